// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys that would like to be more than text.

use crate::site::Page;
use atomic_breaker_server::State;

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn hostile_keys_stay_text_and_nothing_comes_from_elsewhere() {
    let page = Page::new();
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
        page.site.trip(key);
    }
    page.site.trip(&long);
    page.open();
    for (key, shown) in hostile {
        // By this very key it is found and changed.
        page.manage(shown);
        let title = page.text_of("#dialog-title");
        assert_eq!(title, format!("{shown} of hosts"));
        page.command("Reset");
        assert_eq!(page.site.state(key), State::Closed, "{key:?}");
        page.press("#dialog", "Close");
    }
    assert!(!page.has_dialog());
    let counts =
        "return document.querySelectorAll('main img, main svg, main script, main a').length;";
    assert_eq!(page.run(counts), 0);
    let foreign = "return performance.getEntriesByType('resource').map((it) => it.name).filter((name) => !name.startsWith(location.origin + '/deep/breakers'));";
    assert_eq!(page.run(foreign).as_array().unwrap().len(), 0);
    assert_eq!(page.log(), "[]", "violations of the policy are there");
    let fits = "document.documentElement.scrollWidth <= window.innerWidth";
    assert!(page.is(fits), "a long key widens nothing");
    println!(
        "figure: {} hostile keys are text, each is reset by its own button",
        hostile.len()
    );
}

/// The check above can fail: what is forbidden is written to the log.
#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn control_a_policy_violation_is_logged() {
    let page = Page::new();
    page.open();
    page.run("const image = document.createElement('img'); image.src = 'http://127.0.0.2:9/x.png'; document.body.append(image);");
    let mut logs = std::iter::repeat_with(|| page.log()).take(1_000);
    let log = logs.find(|log| log != "[]").unwrap_or_default();
    assert!(log.contains("Content Security Policy"), "{log}");
    let sink = "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'taken'; } catch (error) { return error.name; } })()";
    assert_eq!(
        page.text(sink),
        "TypeError",
        "markup cannot be made of text at all"
    );
}
