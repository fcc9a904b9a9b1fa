//! Keys that would like to be more than text.

use crate::browser::browser;
use crate::site::{Site, row};
use atomic_breaker_std::State;

#[test]
fn hostile_keys_stay_text_and_nothing_comes_from_elsewhere() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    let long = "x".repeat(100_000);
    let hostile = [
        (
            "<img src=x onerror=alert(1)>",
            "<img src=x onerror=alert(1)>",
        ),
        ("<script>alert(2)</script>", "<script>alert(2)</script>"),
        ("\"'`><svg onload=alert(3)>", "\"'`><svg onload=alert(3)>"),
        ("javascript:alert(4)", "javascript:alert(4)"),
        (
            "{{constructor.constructor('alert(5)')()}}",
            "{{constructor.constructor('alert(5)')()}}",
        ),
        ("a\nb\r\tc", "a\\u{a}b\\u{d}\\u{9}c"),
        ("\u{202e}moc.elpmaxe", "\\u{202e}moc.elpmaxe"),
        ("two\u{2028}lines", "two\\u{2028}lines"),
        ("zero\u{200b}width", "zero\\u{200b}width"),
        ("🦀 four bytes", "🦀 four bytes"),
        ("نطاق.example", "نطاق.example"),
    ];
    for (key, _) in hostile {
        site.trip(key);
    }
    site.trip(&long);
    browser.open(&site.url);
    for (key, shown) in hostile {
        browser.wait_for(&row(shown));
        // By this very key it is found and changed.
        let index = browser.run(&format!("return {}.rowIndex;", row(shown)));
        browser.click(&format!("#rows tr:nth-child({index}) button"));
        let title = browser.text("return document.querySelector('#dialog-title').textContent;");
        assert_eq!(title, format!("{shown} of hosts"));
        browser.press("#commands", "Reset");
        browser.press("#confirm", "Reset");
        browser.wait_for("document.querySelector('#result').textContent.startsWith('Done')");
        assert_eq!(site.hosts.state(&key.to_owned()), State::Closed, "{key:?}");
        browser.press("#dialog", "Close");
    }
    assert!(!browser.has_dialog());
    let counts =
        "return document.querySelectorAll('main img, main svg, main script, main a').length;";
    assert_eq!(browser.run(counts), 0);
    let foreign = "return performance.getEntriesByType('resource').map((it) => it.name).filter((name) => !name.startsWith(location.origin + '/deep/breakers'));";
    assert_eq!(browser.run(foreign).as_array().unwrap().len(), 0);
    assert_eq!(browser.log(), "[]", "violations of the policy are there");
    let width = "return document.documentElement.scrollWidth <= window.innerWidth;";
    assert_eq!(browser.run(width), true, "a long key widens nothing");
    println!(
        "figure: {} hostile keys are text, each is reset by its own button",
        hostile.len()
    );
}

/// The check above can fail: what is forbidden is written to the log.
#[test]
fn control_a_violation_of_the_policy_is_in_the_log() {
    let Some(browser) = browser() else { return };
    let site = Site::new();
    browser.open(&site.url);
    browser.run("const image = document.createElement('img'); image.src = 'http://127.0.0.2:9/x.png'; document.body.append(image);");
    browser.wait_for("true");
    let mut log = browser.log();
    for _ in 0..200 {
        if log != "[]" {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        log = browser.log();
    }
    assert!(log.contains("Content Security Policy"), "{log}");
    let sink = "try { document.body.innerHTML = '<b>x</b>'; return 'taken'; } catch (error) { return error.name; }";
    assert_eq!(
        browser.text(sink),
        "TypeError",
        "markup cannot be made of text at all"
    );
}
