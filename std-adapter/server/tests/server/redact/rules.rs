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
fn of_a_user_and_a_password_the_host_is_left() {
    leave(&[
        ("http://bob@h/x", "http://h/x"),
        ("http://bob:x@h/x", "http://h/x"),
        ("http://:@h/x", "http://h/x"),
        ("http://bob:1@h:80/x", "http://h:80/x"),
        ("http://bob:x/y@h/x", "http://…@h/x"),
        ("http://bob:80@h/x@y", "http://…@y"),
        ("http://bob@corp:x/y@h/z", "http://…@h/z"),
        ("http://bob:1,x@corp/y@h/z", "http://…@h/z"),
        ("http://bob:80x?a=b@h/x", "http://…@h/x"),
        ("http://bob:?a=b@h/x", "http://…@h/x"),
        ("amqp://bob:80?a=b@h/x", "amqp://…@h/x"),
        ("http://h:80/long/path?a=b@h/x", "http://h…?…"),
        ("http://h:80/@scope/x", "http://…@scope/x"),
        ("http://bob@h:80/@scope/x", "http://h:80/@scope/x"),
        ("bob:x@h y", "…@h y"),
        ("(bob:x@h) y", "(…@h) y"),
        ("user=bob:x@h y", "user=…@h y"),
        ("//bob:x@h", "//…@h"),
    ]);
    keep(&["http://…@h/x", "http://h/@scope/x"]);
}

#[test]
fn a_password_may_have_spaces_but_not_after_a_port() {
    leave(&[
        ("amqp://bob:a b c@h/x", "amqp://…@h/x"),
        ("amqp://bob:<a b@h/x", "amqp://…@h/x"),
        ("http://bob:80 b@h/x", "http://…@h/x"),
        ("http://bob:80  b c@h/x", "http://…@h/x"),
        ("http://bob:8 b c d@h: no, a@b", "http://…@h: no, a@b"),
        ("http://bob:8 b.c:d@h/x", "http://…@h/x"),
        ("amqp://bob:8 b, c@h/x", "amqp://…@h/x"),
        ("amqp://bob:8, b@h/x", "amqp://…@h/x"),
        ("amqp://bob:8/b c@h/x", "amqp://…@h/x"),
    ]);
    keep(&[
        "http://h:80 is down: bob@h",
        "amqp://h:80\nbob@h",
        r#""amqp://h:80 is down", bob@h"#,
        "<a>amqp://h:80 is down</a> bob@h",
        "http://h:80 is down, says bob@h",
        "http://h:80, bob@h",
        "http://h:80/7 bob@h",
        "http://h:80\nbob@h",
        "http://token: bob@h",
        "amqp://bob:< a@h",
    ]);
}

#[test]
fn a_password_that_was_cut_is_left_out_and_a_port_stays() {
    leave(&[
        ("amqp://bob:x", "amqp://bob"),
        ("amqp://bob:x/y is down", "amqp://bob is down"),
        ("amqp://h:123456", "amqp://h"),
        ("amqp://h:1-2", "amqp://h"),
        (r#"amqp://bob:S3"CRET"#, "amqp://bob"),
        (r#"amqp://bob:S3"%CRET is down"#, "amqp://bob is down"),
        (r"amqp://bob:a<b\\c>d", "amqp://bob"),
        (r#""amqp://bob:x", y"#, r#""amqp://bob", y"#),
        (
            r#"{"a":"amqp://bob:x","b":1}"#,
            r#"{"a":"amqp://bob","b":1}"#,
        ),
        ("<b>amqp://bob:x</b> y", "<b>amqp://bob</b> y"),
    ]);
    keep(&[
        "amqp://h:12345",
        "amqp://h:1: refused",
        "amqp://h:1,b:2",
        "amqp://h:1|b:2",
        "amqp://h: refused",
    ]);
}

#[test]
fn a_mark_that_encloses_an_address_ends_it_and_any_other_is_of_the_password() {
    leave(&[
        (r#"http://bob:7"x@h/x"#, "http://h/x"),
        (r#"http://bob:7"@h/x"#, "http://h/x"),
        (r#"\"http://bob:7\@h/x"#, r#"\"http://h/x"#),
        (r"http://bob:7\nx@h/x", "http://h/x"),
        (r"http://bob:7\\nx@h/x", "http://h/x"),
        ("http://bob:7>x@h/x", "http://h/x"),
        ("->http://bob:7>x@h/x", "->http://h/x"),
        ("<b>http://bob:7>x@h/x", "<b>http://h/x"),
        ("http://bob:7</b@h/x", "http://…@h/x"),
        ("http://bob:7</>x@h/x", "http://…@h/x"),
    ]);
    keep(&[
        "<http://h:80>,bob@h",
        "<a>http://h:80</a>bob@h",
        r#""http://h:80",bob@h"#,
        r#""http://h:80\nbob@h""#,
        r#"{"error":"GET \"http://h:80\",bob@h"}"#,
    ]);
}

#[test]
fn a_query_is_left_out_and_a_question_stays() {
    leave(&[
        ("http://h/x?y", "http://h/x?…"),
        ("http://h/x#y: 404", "http://h/x?…: 404"),
        ("?a=b", "?…"),
        ("/x?y", "/x?…"),
        ("x?y=z", "x?…"),
        ("x?y://h?z=1", "x?…"),
    ]);
    keep(&["why?", "/x?", "x?y", "why? = because", "a?://x"]);
}

#[test]
fn the_address_that_reqwest_adds_is_left_out() {
    leave(&[
        ("error for url (https://h/x): refused", "error: refused"),
        ("error for url (https://h/x(y)) by h", "error by h"),
        ("error for url (https://h/x", "error"),
        ("error for url ()", "error"),
    ]);
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
fn a_colon_in_a_sentence_or_before_a_port_names_no_secret() {
    leave(&[
        ("password:80", "password:…"),
        ("my-password: a", "my-password: …"),
        ("my-token: a", "my-token: …"),
        ("myToken: a", "myToken: …"),
        ("my-token:a", "my-token:…"),
        ("x-token: 80: refused", "x-token: …: refused"),
        ("jwt:123456 x", "jwt:… x"),
        ("apiKey:80x", "apiKey:…"),
        ("apiKey:80=", "apiKey:…"),
        ("jwt:8080-x", "jwt:…"),
        ("token: [a] b", "token: … b"),
        ("token: abcde7, x", "token: …, x"),
        ("token: abcdefghijklmnopqrst", "token: …"),
        ("token: abcdefghijklmnopqrstuvwxyz1 x", "token: … x"),
        ("Bearer:abcdef1", "Bearer:…"),
    ]);
    keep(&[
        "Token: a",
        "auth: a",
        "token: abcd7",
        "token: 7",
        "token: abcdefghijklmnopqrs",
        "token: is 12345678901234567890",
        "x-token:80: refused",
        "jwt:12345 x",
        "token://h:80/x is down",
        "no variant token::abcdef123",
        "spin=1",
    ]);
}

#[test]
fn a_pair_has_a_bracket_and_two_quoted_texts() {
    leave(&[
        (r#"("token", "x")"#, r#"("token", …)"#),
        (r#"["token", "x"]"#, r#"["token", …]"#),
        (r#"(\"token\", \"x\")"#, r#"(\"token\", …)"#),
    ]);
    keep(&[
        r#""token", "x""#,
        r#"("token", 7)"#,
        r#"(token, "x")"#,
        r#"("host", "x")"#,
    ]);
}

#[test]
fn a_scheme_or_an_option_is_followed_by_a_secret() {
    leave(&[
        ("bearer x y", "bearer … y"),
        ("Bearer -x y", "Bearer … y"),
        ("Bearer = x y", "Bearer = … y"),
        ("Basic authx y", "Basic … y"),
        ("--token x y", "--token … y"),
        ("--token = x y", "--token = … y"),
        ("--token => x y", "--token => … y"),
    ]);
    keep(&["Bearer ", "Basic auth x", "Bearer token x", "--token --x y"]);
}

#[test]
fn an_element_is_left_empty_and_a_parameter_of_a_type_stays() {
    leave(&[
        ("<token>x</token>7", "<token>…</token>7"),
        (
            "<a:token b=\"1\">x</a:token>7",
            "<a:token b=\"1\">…</a:token>7",
        ),
        ("<token>x", "<token>…"),
    ]);
    keep(&["</token>7", "<token>", "Option<Token> x", "<token>x<b>"]);
}

#[test]
fn a_value_ends_with_its_quotation_mark_or_bracket() {
    leave(&[
        ("token='x y' z", "token=… z"),
        (r"token='x\' y' z", "token=… z"),
        (r#"token=\"x" y"#, "token=… y"),
        (r#"token="x ""y z" w"#, "token=… w"),
        (r#"token="x"y z" w"#, "token=… w"),
        (r#"token="x y" z"#, "token=… z"),
        (r#"token=b"x y" z"#, "token=… z"),
        (r#"token=abc"x y"#, "token=… y"),
        (
            r#"{\"token\":\"x\\\"y\",\"b\":2}"#,
            r#"{\"token\":…,\"b\":2}"#,
        ),
        (r#"{\"token\":\"\",\"b\":2}"#, r#"{\"token\":…,\"b\":2}"#),
        ("token=Some(x y) z", "token=… z"),
        ("token=Secret { x y } z", "token=… z"),
        ("token={x {y} z} w", "token=… w"),
        ("token=token: { x } y", "token=… y"),
        (
            r#"{"e":"{\"token\":[\"x\",\"]\"],\"b\":2}"}"#,
            r#"{"e":"{\"token\":…,\"b\":2}"}"#,
        ),
    ]);
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

#[test]
fn what_reveals_nothing_stays() {
    leave(&[("token: `abc` x", "token: … x")]);
    keep(&[
        "token: `}` x",
        "password=` `",
        "password=NULL",
        "password: …",
    ]);
}

#[test]
fn of_credentials_scheme_and_parameters_are_left_out() {
    leave(&[
        ("Authorization: x y", "Authorization: …"),
        ("Authorization: Bearer x y", "Authorization: … y"),
        ("Authorization: a-b x y", "Authorization: … y"),
        ("Authorization: a/b x", "Authorization: … x"),
        ("Authorization: a/b ]", "Authorization: … ]"),
        ("Authorization: a/b x=y z", "Authorization: … z"),
        ("Authorization: a, x, y=z w", "Authorization: … w"),
        ("Authorization: a b=\"x y\" z", "Authorization: …\" z"),
        ("Authorization: a/\"b\"c\" d\" e", "Authorization: …\" e"),
        ("Authorization: a/b\" ", "Authorization: …"),
        ("Cookie: a b\nc", "Cookie: …\nc"),
        ("Cookie: (a)) b\nc", "Cookie: …\nc"),
    ]);
}

#[test]
fn what_is_encoded_up_to_three_times_is_left_out() {
    leave(&[
        ("password%3Dx y", "password=… y"),
        ("password%253Dx y", "password=… y"),
        ("password%25253Dx y", "password=… y"),
        ("password%3Dx%0Ay", "password=… y"),
    ]);
    keep(&["password%2525253Dx", "a%+1b", "100%", "50%2", "%C3%A9"]);
}
