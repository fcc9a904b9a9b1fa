// SPDX-License-Identifier: MIT OR Apache-2.0
//! Errors that contain no secret.

use super::Random;

pub(super) const ERRORS: &[&str] = &[
    "503 Service Unavailable",
    "429 Too Many Requests: retry after 3 s",
    "error trying to connect: tcp connect error: Connection refused (os error 111)",
    "dns error: failed to lookup address information: Name or service not known",
    "operation timed out after 500ms",
    "invalid peer certificate: UnknownIssuer",
    "error sending request: connection closed before message completed",
    "http://h:80: connection refused: mail bob@corp.example",
    "https://registry.example/@scope/name: 404",
    "http://secret-store:8080/x: refused",
    "secret-store: refused",
    "unexpected token: `}` at line 1 column 9",
    "expected `,` or `}` at line 3 column 17",
    "the token has expired",
    "token expired at 2026-11-25T22:10:00Z",
    "no session is open",
    "(using password: NO)",
    "password authentication failed for user \"bob\"",
    "FATAL: role \"bob\" does not exist (SQLSTATE 28000)",
    "ERROR: duplicate key value violates unique constraint \"users_pkey\"",
    "Key (id)=(7) already exists.",
    "deadlock detected: process 12 waits for ShareLock on transaction 7",
    "MOVED 3999 127.0.0.1:6381",
    "READONLY You can't write against a read only replica.",
    "NOAUTH Authentication required.",
    "ReplyError: WRONGPASS invalid username-password pair or user is disabled.",
    "kafka: broker 10.0.0.3:9092 (id: 3 rack: null) disconnected",
    "amqp: channel closed: 406 PRECONDITION_FAILED - unknown delivery tag 7",
    "status: Unavailable, message: \"upstream connect error\", details: []",
    "Status { code: Unavailable, message: \"no route to host\", source: None }",
    "Os { code: 111, kind: ConnectionRefused, message: \"Connection refused\" }",
    "reqwest::Error { kind: Request, source: TimedOut }",
    "hyper::Error(IncompleteMessage)",
    r#"{"password":null,"status":503}"#,
    r#"{"error":"not found","path":"/users/7","status":404}"#,
    r#"{"url":"http://h:80/x","mail":"bob@corp.example"}"#,
    r#"{"url":"http://h:80","mail":"bob@corp.example"}"#,
    r#"Error { url: "http://h:80", text: "mail bob@corp.example" }"#,
    r#"Error { text: "http://h:80: refused\nmail bob@corp.example" }"#,
    r#"[("host", "h:80"), ("accept", "*/*"), ("from", "bob@corp.example")]"#,
    "expected Option<Token>, found x<y>",
    "<html><head><title>502 Bad Gateway</title></head></html>",
    "<a href=\"http://h:80/x\">http://h:80</a>",
    "<http://h:80>bob@corp.example",
    "<b>http://h:80</b>bob@corp.example",
    "`http://h:80`,bob@corp.example",
    "C:\\dir`http://h:80`,bob@corp.example",
    "{\"text\":\"http://h:80\\nbob@corp.example\"}",
    "12:30:01 user@host",
    "12:30:01.123 WARN pool: 3 of 10 connections in use (max: 10)",
    "thread 'main' panicked at src/main.rs:7:5",
    "git@github.com:a/b.git",
    "ssh: connect to host h port 22: Connection timed out",
    "100%, 50%2, %zz, %",
    "why? = because",
    "disk 93% full on /dev/sda1",
    "file not found: /var/lib/app/data%20files/x.json",
    "http://h/a%20b/c: 404",
    "http://[::1]:80/a@b",
    "mongodb://a:1,b:2/x: refused",
    "postgres://db:5432/jobs: too many connections",
    "invalid bearer token: expired",
    "Basic authentication is required",
    "\"quoted\" 'single' `back` <angle>",
    "breaker open, retry in 3.2s",
];

/// An error with addresses, and what is left of it.
pub(super) fn draw(random: &mut Random) -> (String, String) {
    let scheme = random.of(&["http", "https", "amqp", "postgres", "redis", "wss"]);
    let host = random.of(&["h", "db.example", "10.0.0.1", "[::1]", "a-b.c.example"]);
    let port = random.of(&["", ":80", ":5432", ":65535"]);
    let path = random.of(&[
        "",
        "/",
        "/x",
        "/v1/users/7",
        "/a-b/c_d.html",
        "/x;v=1",
        "/a,b",
    ]);
    let query = random.of(&[
        "",
        "",
        "?a=1",
        "?mail=bob@corp.example",
        "#top",
        "?a=1&b=c/d#e",
    ]);
    let is_web = !["amqp", "postgres", "redis"].contains(&scheme);
    // An `@` after the `?` may be the end of a password, and then the port was its beginning.
    let may_be_password = query.contains('@') && !port.is_empty() && !host.starts_with('[');
    let query = if may_be_password && !is_web {
        "?a=1"
    } else {
        query
    };
    let url = format!("{scheme}://{host}{port}{path}");
    let left = match query {
        "" => url.clone(),
        _ if may_be_password && is_web => format!("{scheme}://{host}…?…"),
        _ => format!("{url}?…"),
    };
    let url = format!("{url}{query}");
    let around = |url: &str, number: usize| match number {
        0 => format!("cannot reach {url}: refused"),
        1 => format!("cannot reach {url}"),
        2 => format!("({url}) timed out after 3 s"),
        3 => format!("{{\"url\":\"{url}\",\"mail\":\"bob@corp.example\",\"status\":503}}"),
        4 => format!("Error {{ url: \"{url}\", mail: \"bob@corp.example\" }}"),
        5 => format!(
            "Error {{ text: {:?} }}",
            format!("GET \"{url}\" failed, bob@h knows")
        ),
        6 => format!("<a>{url}</a> bob@corp.example"),
        7 => format!("GET {url}\nfrom bob@corp.example"),
        8 => format!("`{url}`, bob@corp.example"),
        _ => format!("'{url}' is down"),
    };
    let number = random.below(10);
    (around(&url, number), around(&left, number))
}
