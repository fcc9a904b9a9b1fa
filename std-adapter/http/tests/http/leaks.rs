// SPDX-License-Identifier: MIT OR Apache-2.0
//! Secrets are left out wherever errors of clients, servers and databases contain them, and what helps stays.

use std::fmt::Write;

use atomic_breaker_server::redact::without_secrets;

use crate::support::Random;

/// Each with what stays; what is secret begins with `S3`, and has `S3` in each of its words.
const LEAKS: &[(&str, &str)] = &[
    // Headers.
    ("401: Authorization: Bearer S3CR3T", "401: Authorization: "),
    ("authorization: Basic S3CR3T== was rejected", "was rejected"),
    (
        "Proxy-Authorization: Digest username=\"S3 S3\", realm=\"x\", response=\"S3\" by h:80",
        "by h:80",
    ),
    (
        "Authorization: AWS4-HMAC-SHA256 Credential=S3/1/s3, SignedHeaders=host;range, Signature=S3 at h",
        "at h",
    ),
    (
        "AUTHORIZATION: Token token=\"S3\", realm=\"x\" (403)",
        "(403)",
    ),
    ("Authorization: S3CR3T", "Authorization: "),
    (
        "GET /x: 403; cookie: session=S3; theme=S3 S3",
        "GET /x: 403; cookie: ",
    ),
    ("Cookie: S3CR3T", "Cookie: "),
    (
        "Set-Cookie: sid=S3; Expires=Wed, 21 Oct 2026, id=S3\nstatus: 500",
        "status: 500",
    ),
    ("X-Api-Key: S3CR3T, X-Host: h", "X-Host: h"),
    ("x-amz-security-token: S3CR3T/x+y== (403)", "(403)"),
    ("Ocp-Apim-Subscription-Key: S3CR3T: 403", "403"),
    ("X-CSRF-Token:S3CR3T", "X-CSRF-Token:"),
    (
        r#"{"authorization": "Bearer S3", "host": "h"}"#,
        r#""host": "h""#,
    ),
    (
        r#"[("cookie", "a=S3; b=S3"), ("host", "h")]"#,
        r#"("host", "h")"#,
    ),
    (
        r#"{"authorization": ["Bearer S3", "S3"], "host": "h"}"#,
        r#""host": "h""#,
    ),
    // URLs.
    ("https://bob:S3@h/x", "https://h/x"),
    ("HTTPS://S3@H:80/x", "HTTPS://H:80/x"),
    ("https://bob:S3 S3 S3@h:80/x failed", "h:80/x failed"),
    ("https://bob:S3/S3?S3#S3@h/x", "h/x"),
    ("https://bob:S3@S3/S3@h/x", "h/x"),
    ("https://bob:12345/S3@h/x", "h/x"),
    ("https://S3:12345 6@h/x: 503", "h/x: 503"),
    ("https://bob@corp.example:S3@h/x", "https://h/x"),
    ("https://bob:\"S3\" '<S3>@h/x", "h/x"),
    (r"https://corp\bob:S3@h/x", "h/x"),
    (r"https:\/\/bob:S3@h\/x", r"h\/x"),
    ("//bob:S3@h/x", "h/x"),
    (
        "proxy http://p/https://bob:S3@h/x?S3 failed",
        "h/x?… failed",
    ),
    (
        "https://h/x?redirect=https://bob:S3@S3/&t=S3",
        "https://h/x?…",
    ),
    (
        "https://h/x?q={S3}|(S3)'S3',S3 is gone",
        "https://h/x?… is gone",
    ),
    (
        "https://h/login;jsessionid=S3 is gone",
        "https://h/login;jsessionid=",
    ),
    ("https://h/cb#access_token=S3&x=S3", "https://h/cb?…"),
    ("/reset?S3CR3T: 404", "/reset?…: 404"),
    (
        "https://b.s3.example/o?X-Amz-Credential=S3%2F1&X-Amz-Signature=S3&X-Amz-Date=1: 403",
        "https://b.s3.example/o?…: 403",
    ),
    (
        "https://a.blob.example/c/b?sv=1&sig=S3%3D: 403",
        "https://a.blob.example/c/b?…: 403",
    ),
    // Percent-encoded.
    ("https%3A%2F%2Fbob%3AS3%40h%2Fx", "h/x"),
    ("/login%3Fpassword%3DS3%26x%3D1: 404", "/login?…: 404"),
    ("p%61ssword%3dS3CR3T&x=1", "&x=1"),
    ("%2570assword%253DS3CR3T", "password="),
    // Databases.
    (
        "postgres://u:S3@h:5432/d: refused",
        "postgres://h:5432/d: refused",
    ),
    ("redis://:S3@h:6379/0", "redis://h:6379/0"),
    ("rediss://default:S3CR3T", "rediss://default"),
    ("amqps://u:S3@h:5671/%2Fv", "amqps://h:5671/%2Fv"),
    (
        "mongodb+srv://u:S3,S3@a:1,b:2/d?authSource=S3",
        "mongodb+srv://a:1,b:2/d?…",
    ),
    ("mongodb://u:1S3", "mongodb://u"),
    (
        "jdbc:mysql://h:3306/d?user=u&password=S3",
        "jdbc:mysql://h:3306/d?…",
    ),
    (
        "jdbc:sqlserver://h:1433;databaseName=d;password=S3;x=y",
        "jdbc:sqlserver://h:1433;databaseName=d;password=…;x=y",
    ),
    ("jdbc:oracle:thin:bob/S3@//h:1521/d", "@//h:1521/d"),
    ("host=h user=u password=S3,S3 dbname=d", "dbname=d"),
    ("host=h password='S3 \\'S3 ''S3' dbname=d", "dbname=d"),
    ("token=\\'\npassword='S3 \\'S3 ''S3' dbname=d", "dbname=d"),
    (
        "Server=h;Password=S3 S3 S3;Database=d",
        "Server=h;Password=…;Database=d",
    ),
    ("Server=h;Database=d;Pwd=S3 S3", "Server=h;Database=d;Pwd=…"),
    ("Driver={ODBC};PWD={S3;S3};Server=h", "Server=h"),
    (
        "AccountName=a;AccountKey=S3==;EndpointSuffix=h",
        "AccountName=a;AccountKey=…;EndpointSuffix=h",
    ),
    (
        "Endpoint=sb://h/;SharedAccessKeyName=S3;SharedAccessKey=S3=",
        "Endpoint=sb://h/",
    ),
    ("user:S3@tcp(h:3306)/d", "@tcp(h:3306)/d"),
    // JSON and what programs print.
    (r#"{"password":"S3\"S3\\","host":"h"}"#, r#""host":"h"}"#),
    (
        r#"{\"token\":\"S3\\\"S3\",\"host\":\"h\"}"#,
        r#"\"host\":\"h\"}"#,
    ),
    (r#"{"token" : "S3", "status": 503}"#, r#""status": 503}"#),
    (
        r#"{"accessToken":"S3","refresh_token":"S3","id":7}"#,
        r#""id":7}"#,
    ),
    (
        r#"{"credentials":{"user":"S3","pass":"S3}"},"id":7}"#,
        r#""id":7}"#,
    ),
    (r#"{"pin":1S3,"id":7}"#, r#""id":7}"#),
    ("{\"secret\":\n  \"S3\",\n \"id\":7}", "\"id\":7}"),
    (r#"{"password":"S3 S3"#, r#"{"password":"#),
    (
        r#"Config { host: "h", password: Some("S3"), port: 80 }"#,
        "port: 80 }",
    ),
    (
        r#"Config { token: Secret { inner: "S3}" }, port: 80 }"#,
        "port: 80 }",
    ),
    ("Config { api_key: [83, 51], port: 80 }", "port: 80 }"),
    ("{'apiKey': 'S3', 'id': 7}", "'id': 7}"),
    ("{:password=>\"S3\", :id=>7}", ":id=>7}"),
    ("<Password>S3 S3</Password><Id>7</Id>", "<Id>7</Id>"),
    (
        "<wsse:Password Type=\"x\">S3</wsse:Password>7",
        "</wsse:Password>7",
    ),
    // Commands and sentences.
    ("pg_dump --password S3CR3T --host h: 1", "--host h: 1"),
    ("curl --token=S3CR3T https://h/x", "https://h/x"),
    ("invalid password: S3CR3T!", "invalid password: "),
    ("invalid token: S3CR3T", "invalid token: "),
    ("password:=S3CR3T", "password:="),
    ("PASSWORD = S3CR3T", "PASSWORD = "),
    ("pass\u{200b}word=S3CR3T", "="),
    ("password=pässS3wörd dbname=d", "dbname=d"),
    ("(using password: YES)", "(using password: YES)"),
    ("session=S3CR3T; path=/", "path=/"),
    ("a=1&client_secret=S3&b=2", "a=1&client_secret=…&b=2"),
    ("password=S3://S3?S3=S3", "password="),
    ("password=S3?x=S3", "password="),
];

/// Texts that only look like secrets.
const HARMLESS: &[&str] = &[
    "503 Service Unavailable",
    "error trying to connect: tcp connect error: Connection refused (os error 111)",
    "http://h:80: connection refused: mail bob@corp.example",
    "https://registry.example/@scope/name: 404",
    "http://secret-store:8080/x: refused",
    "secret-store: refused",
    "unexpected token: `}` at line 1 column 9",
    "the token has expired",
    "(using password: NO)",
    r#"{"password":null,"status":503}"#,
    r#"{"url":"http://h:80/x","mail":"bob@corp.example"}"#,
    "expected Option<Token>, found x<y>",
    "12:30:01 user@host",
    "100%, 50%2, %zz, %",
    "why? = because",
];

#[test]
fn what_only_looks_like_a_secret_stays() {
    for text in HARMLESS {
        assert_eq!(without_secrets(text), *text);
    }
}

#[test]
fn a_secret_is_left_out_wherever_it_is_and_what_helps_stays() {
    let mut wrong = String::new();
    for (text, stays) in LEAKS {
        let left = without_secrets(text);
        if left.contains("S3") || !left.contains(stays) {
            writeln!(wrong, "{text}\n  {left}\n  {stays}").unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Marks that begin or end something, and half of the text that stands for a secret.
const PARTS: [&str; 38] = [
    "://",
    ":",
    "/",
    "@",
    "?",
    "#",
    "=",
    "&",
    ";",
    ",",
    "|",
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "<",
    ">",
    "\"",
    "'",
    "`",
    "\\",
    "%",
    "%3A",
    "%25",
    " ",
    "\n",
    "\0",
    "a",
    "7",
    "é",
    "\u{2003}",
    "…",
    "token",
    "Bearer",
    "--",
    " for url (",
];

#[test]
fn a_secret_is_left_out_whatever_surrounds_it_and_nothing_panics() {
    let mut random = Random::new();
    for _ in 0..50_000 {
        let mut junk = |most| -> String {
            let length = random.below(most);
            (0..length)
                .map(|_| PARTS[random.below(PARTS.len())])
                .collect()
        };
        let (before, after) = (junk(9), junk(9));
        let _ = without_secrets(&format!("{before}{after}"));
        let (leak, _) = LEAKS[random.below(LEAKS.len())];
        // After an unmatched quotation mark it cannot be known that this is part of a header.
        if leak.contains("response=") {
            continue;
        }
        let text = format!("{before}\n-\n{leak}\n{after}");
        let left = without_secrets(&text);
        assert!(!left.contains("S3"), "{text:?}: {left:?}");
    }
}

/// Hostile marks by the million, and secrets at the end of what is read.
#[test]
fn only_part_of_a_text_of_megabytes_is_read_and_no_secret_is_cut_in_two() {
    for part in PARTS {
        for more in ["", " ", "x", "=", "://u:x/", "token:"] {
            let part = format!("{part}{more}");
            let left = without_secrets(&part.repeat(2_000_000 / part.len()));
            assert!(left.len() <= 32 * 1024, "{part:?}: {}", left.len());
        }
    }
    for (leak, _) in LEAKS {
        // A truncated one goes on up to the next quotation mark.
        if leak.matches('"').count() % 2 == 0 {
            let long = format!("{leak}\n").repeat(50_000);
            assert!(!without_secrets(&long).contains("S3"), "{leak}");
        }
        for end in 0..leak.len() {
            let hidden = "x".repeat(16 * 1_024 - end - 12);
            let left = without_secrets(&format!("token=\"{hidden}\"\n{leak}\n{leak}"));
            assert!(!left.contains("S3"), "{leak} after {end}: {left}");
        }
    }
}
