//! Keys and errors that would like to be more than text.

use atomic_breaker_std::steps::Status;

use super::{Shop, manage, result, row};
use crate::browser::browser;

#[test]
fn hostile_keys_and_errors_stay_text() {
    let Some(browser) = browser() else { return };
    let shop = Shop::new();
    let hostile = [
        (
            "<img src=x onerror=alert(1)>",
            "<img src=x onerror=alert(1)>",
        ),
        ("<script>alert(2)</script>", "<script>alert(2)</script>"),
        ("\"'`><svg onload=alert(3)>", "\"'`><svg onload=alert(3)>"),
        ("a\nb\r\tc", "a\\u{a}b\\u{d}\\u{9}c"),
        ("\u{202e}moc.elpmaxe", "\\u{202e}moc.elpmaxe"),
        ("two\u{2028}lines", "two\\u{2028}lines"),
        ("zero\u{200b}width", "zero\\u{200b}width"),
        ("🦀 four bytes", "🦀 four bytes"),
    ];
    let long = "x".repeat(255);
    let keys = hostile.map(|(key, _)| key);
    for key in keys.into_iter().chain([&*long]) {
        // Of 4 KiB, and of one word.
        let error = format!(
            "<b onclick=alert(5)>{key}</b>\n\u{202e}{}",
            "y".repeat(8_000)
        );
        shop.ended(key, Status::Dead, &error);
    }
    shop.open(&browser);
    for (key, shown) in hostile {
        manage(&browser, shown);
        let title = browser.text("return document.querySelector('#job-title').textContent;");
        assert!(
            title.starts_with(&format!("{shown} (order, job ")),
            "{title}"
        );
        let error = format!("<b onclick=alert(5)>{shown}</b>\\u{{a}}\\u{{202e}}yyy");
        browser.wait_for(&format!(
            "document.querySelector('#job-history').textContent.includes({})",
            serde_json::json!(error)
        ));
        let width =
            "const it = document.querySelector('#job'); return it.scrollWidth <= it.clientWidth;";
        assert_eq!(browser.run(width), true, "a long word widens nothing");
        browser.press("#job-commands", "Cancel job");
        browser.press("#job-confirm", "Cancel job");
        assert!(result(&browser).starts_with("Done"), "{key:?}");
        browser.press("#job", "Close");
        browser.wait_for(&format!("!{}", row(shown)));
    }
    browser.wait_for(&row(&long));
    assert!(!browser.has_dialog());
    let made = "return document.querySelectorAll('main img, main svg, main script, dialog b, dialog svg').length;";
    assert_eq!(browser.run(made), 0);
    assert_eq!(browser.log(), "[]", "violations of the policy are there");
    let width = "return document.documentElement.scrollWidth <= window.innerWidth;";
    assert_eq!(browser.run(width), true, "a long key widens nothing");
}
