// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each rule by which secrets are left out, on both sides of its edges.

use atomic_breaker_server::redact::without_secrets;

/// Texts, and what is left of each.
fn leave(cases: &[(&str, &str)]) {
    let wrong = |(text, left): &&(&str, &str)| without_secrets(text) != *left;
    let wrong: Vec<_> = cases.iter().filter(wrong).collect();
    let told = wrong.iter().map(|(text, left)| {
        let got = without_secrets(text);
        format!("{text:?}: {got:?} instead of {left:?}\n")
    });
    assert!(wrong.is_empty(), "\n{}", told.collect::<String>());
}

fn keep(texts: &[&str]) {
    let cases: Vec<_> = texts.iter().map(|text| (*text, *text)).collect();
    leave(&cases);
}

#[test]
fn a_value_begins_after_the_marks_of_an_assignment() {
    leave(&[
        ("pin=x y", "pin=… y"),
        ("pin = x y", "pin = … y"),
        ("pin==x y", "pin==… y"),
        ("pin===x y", "pin===… y"),
        ("pin====x y", "pin===… y"),
        ("pin=>x y", "pin=>… y"),
        ("password:x y", "password:… y"),
        ("password:=x y", "password:=… y"),
        ("password:==x y", "password:=… y"),
        ("password:>x y", "password:… y"),
        ("{\"pin\":\n x}", "{\"pin\":\n …}"),
    ]);
    keep(&["password=", "password:\nx", "Cookie: ", "Authorization: "]);
}

#[test]
fn before_a_value_there_may_be_many_spaces() {
    for count in [63, 64, 1_000] {
        let spaces = " ".repeat(count);
        for name in ["password=", "\"password\":\n", "--token "] {
            let (text, left) = (format!("{name}{spaces}x"), format!("{name}{spaces}…"));
            leave(&[(&text, &left)]);
        }
    }
}
