// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keys and errors that would like to be more than text.

use atomic_breaker_steps::Status;

use super::{Shop, row};

#[test]
#[ignore = "needs Chromium: tests/engines/run page"]
fn hostile_keys_and_errors_stay_text() {
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
    shop.open();
    for (key, shown) in hostile {
        shop.manage(shown);
        let title = shop.text_of("#job-title");
        let start = format!("{shown} (order, job ");
        assert!(title.starts_with(&start), "{title}");
        let error = format!("<b onclick=alert(5)>{shown}</b>\\u{{a}}\\u{{202e}}yyy");
        shop.wait_for_text("#job-history", &error);
        let fits = "$('#job').scrollWidth <= $('#job').clientWidth";
        assert!(shop.is(fits), "a long word widens nothing");
        assert!(shop.command("Cancel job").starts_with("Done"), "{key:?}");
        shop.press("#job", "Close");
        shop.wait_for(&format!("!{}", row(shown)));
    }
    shop.wait_for(&row(&long));
    assert!(!shop.has_dialog());
    let made = "return document.querySelectorAll('main img, main svg, main script, dialog b, dialog svg').length;";
    assert_eq!(shop.run(made), 0);
    assert_eq!(shop.log(), "[]", "violations of the policy are there");
    let fits = "document.documentElement.scrollWidth <= window.innerWidth";
    assert!(shop.is(fits), "a long key widens nothing");
}
