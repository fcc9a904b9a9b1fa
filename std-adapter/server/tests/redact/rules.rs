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

#[test]
fn any_other_value_ends_with_a_space_or_before_the_next_name() {
    leave(&[
        ("password=a b", "password=… b"),
        ("password=a,b=c", "password=…,b=c"),
        ("password=a|b:c", "password=…|b:c"),
        ("password=a,b c", "password=… c"),
        ("password=a,=b", "password=…"),
        ("password=a,:b", "password=…"),
        ("password=a,=b,c=d", "password=…,c=d"),
        ("password=a;=b", "password=…"),
        ("password=;=b", "password=…"),
        ("password=a=b:c", "password=…"),
        ("password=,x:y", "password=…"),
        ("password=+ x", "password=… x"),
        ("password=7", "password=…"),
        ("password=a; b", "password=…; b"),
        ("password=a b;c=d", "password=…;c=d"),
        ("password=a b;c-d e_f=g", "password=…;c-d e_f=g"),
        ("password=a b;c", "password=… b;c"),
        ("password=a=b;c=d", "password=…;c=d"),
        ("password=a&b c;d=e", "password=… c;d=e"),
        ("a=1;password=b c", "a=1;password=…"),
        ("a=1;password=b c;d", "a=1;password=…;d"),
        ("a=1; password=b c\" d", "a=1; password=…\" d"),
    ]);
    keep(&["password=;a=1"]);
}
