// SPDX-License-Identifier: MIT OR Apache-2.0
//! The contents of kept requests: no secrets, and everything else byte for byte.

use std::fmt::Write;
use std::time::Duration;

use atomic_breaker_steps::requests::{KeepBody, KeepConfig, KeptRequest, NotKept};
use atomic_breaker_steps::{Status, Store};
use http::{HeaderValue, Request};
use tokio::time::sleep;

use super::keep_server::{Process, Say, Server, kept, post};

const MINUTE: Duration = Duration::from_secs(60);

/// The whole contents of the store.
async fn written(process: &Process) -> String {
    let mut all = String::new();
    for job in process.jobs().await {
        let history = process.store.history(job.id).await.unwrap();
        write!(all, "{job:?} {history:?}").unwrap();
    }
    all
}

fn with_secrets(uri: &str) -> Request<String> {
    Request::post(uri)
        .header("idempotency-key", "k")
        .header("authorization", "Bearer SECRET")
        .header("proxy-authorization", "Basic SECRET")
        .header("cookie", "session=SECRET")
        .header("x-internal-token", "SECRET")
        .header("x-tenant", "seven")
        .body("body".to_owned())
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn no_secret_is_written() {
    // The texts of errors contain none either: reqwest appends the URL to its own.
    let why = "error sending request for url (https://server.example/?token=SECRET)";
    let server = Server::new([Say::Fail(why), Say::Fail(why)]);
    let keep = KeepConfig::new().header("X-Tenant");
    let process = Process::new(&server, &keep);
    let job = kept(
        process
            .send(with_secrets("https://user:SECRET@server.example/pay"))
            .await,
    );
    assert!(!written(&process).await.contains("SECRET"));
    assert!(written(&process).await.contains("seven"));
    let _worker = process.steps.work();
    sleep(MINUTE).await;
    let text = written(&process).await;
    assert!(!text.contains("SECRET"), "{text}");
    assert_eq!(process.store.history(job).await.unwrap().len(), 2);
    let sent = server.seen();
    assert_eq!(
        sent[0].headers["authorization"], "Bearer SECRET",
        "the first try has all"
    );
    assert_eq!(sent[2].line, "POST https://server.example/pay");
    let mut names: Vec<_> = sent[2]
        .headers
        .keys()
        .map(http::HeaderName::as_str)
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["idempotency-key", "x-tenant"]);
}

#[tokio::test(start_paused = true)]
async fn a_query_is_not_kept_unless_its_names_are_allowed() {
    let server = Server::new([]);
    let some = KeepConfig::new().query("page").query("sort");
    let any = KeepConfig::new().any_query();
    for (keep, uri, is_kept) in [
        (&KeepConfig::new(), "/?access_token=SECRET", false),
        (&KeepConfig::new(), "/?SECRET", false),
        (&KeepConfig::new(), "/?", true),
        (&some, "/?page=1&sort=up&page=2", true),
        (&some, "/?page=1&access_token=SECRET", false),
        (&some, "/?p%61ge=SECRET", false),
        (&some, "/?page=1&SECRET", false),
        (&some, "/?page=1;token=SECRET&=x", false),
        (&any, "/?page=1&x=2", true),
    ] {
        let process = Process::new(&server, keep);
        process.breaker.trip();
        let answer = process.send(with_secrets(uri)).await;
        if is_kept {
            let job = process.job(kept(answer)).await;
            assert!(job.state.contains(uri), "{}", job.state);
        } else {
            let error = answer.unwrap_err();
            assert!(
                matches!(error.not_kept(), Some(NotKept::Query)),
                "{uri}: {error}"
            );
        }
        assert!(!written(&process).await.contains("SECRET"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_secret_is_kept_only_by_the_name_that_says_so() {
    let server = Server::new([]);
    let mut secret = HeaderValue::from_static("SECRET");
    secret.set_sensitive(true);
    let request = || {
        let mut request = post("/", "k", "");
        request
            .headers_mut()
            .insert("x-internal-token", secret.clone());
        request
    };
    let process = Process::new(&server, &KeepConfig::new().header("x-internal-token"));
    process.breaker.trip();
    let error = process.send(request()).await.unwrap_err();
    assert!(error.to_string().contains("marked as sensitive"), "{error}");
    let keep = KeepConfig::new()
        .secret_header("x-internal-token")
        .secret_header("cookie");
    let process = Process::new(&server, &keep);
    process.breaker.trip();
    kept(process.send(request()).await);
    assert!(written(&process).await.contains("SECRET"));
}

/// As clients mark what they are given for `authorization`: the client of the replay adds its own.
#[tokio::test(start_paused = true)]
async fn a_sensitive_header_that_is_not_allowed_is_left_out() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    process.breaker.trip();
    let mut request = with_secrets("/pay");
    for value in request.headers_mut().values_mut() {
        value.set_sensitive(value == "SECRET" || value == "Bearer SECRET");
    }
    kept(process.send(request).await);
    let text = written(&process).await;
    assert!(!text.contains("SECRET"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn kept_requests_are_not_shown() {
    let server = Server::new([]);
    let keep = KeepConfig::new().any_query().secret_header("authorization");
    let process = Process::new(&server, &keep);
    process.breaker.trip();
    let job = kept(process.send(with_secrets("/pay?token=SECRET")).await);
    let request: KeptRequest = serde_json::from_str(&process.job(job).await.state).unwrap();
    let shown = format!("{request:?}");
    assert!(
        shown.contains("/pay") && shown.contains("authorization"),
        "{shown}"
    );
    assert!(
        !shown.contains("SECRET") && !shown.contains("body\""),
        "{shown}"
    );
}

#[tokio::test(start_paused = true)]
async fn headers_and_bodies_of_any_bytes_are_sent_again_as_they_were() {
    let values: [&[u8]; 6] = [
        b"",
        b"a\tb",
        b" ",
        b"\xff\x80\xfe",
        "\u{e4}".as_bytes(),
        b"\"\\",
    ];
    let mut bodies: Vec<Vec<u8>> = vec![
        b"\0nul\0".to_vec(),
        "\u{1f980} text".as_bytes().to_vec(),
        vec![1; 3_000],
        (0..=255).collect(),
        b"{\"base64\":\"!\"}".to_vec(),
    ];
    // Each length of the last group of base64.
    bodies.extend((0..70).map(|bytes| (0..bytes).map(|at| 255 - at * 3).collect()));
    let keep = KeepConfig::new().header("x-many");
    for body in bodies {
        let server = Server::new([]);
        let process = Process::new(&server, &keep);
        process.breaker.trip();
        let mut request = Request::post("/");
        for value in values {
            request = request.header("X-Many", HeaderValue::from_bytes(value).unwrap());
        }
        let request = request.header("idempotency-key", "k");
        let sent = request.body(http_body_util::Full::new(bytes::Bytes::from(body.clone())));
        let job = kept(process.send(sent.unwrap()).await);
        let state = process.job(job).await.state;
        assert!(
            !state.contains('\0') && state.len() < 600 + body.len() * 4 / 3,
            "{state}"
        );
        let _worker = process.steps.work();
        process.breaker.reset();
        sleep(Duration::from_secs(3)).await;
        let seen = &server.seen()[0];
        assert_eq!(seen.body, body);
        let many: Vec<_> = seen.headers.get_all("x-many").iter().collect();
        assert_eq!(
            many,
            values.map(|value| HeaderValue::from_bytes(value).unwrap())
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_is_written_as_text_or_as_base64() {
    let server = Server::new([]);
    // As in RFC 4648.
    for (body, written) in [
        (&b"foobar"[..], "\"body\":\"foobar\""),
        (
            b"\x14\xfb\x9c\x03\xd9\x7e",
            "\"body\":{\"base64\":\"FPucA9l+\"}",
        ),
        (
            b"\x14\xfb\x9c\x03\xd9",
            "\"body\":{\"base64\":\"FPucA9k=\"}",
        ),
        (b"\x14\xfb\x9c\x03", "\"body\":{\"base64\":\"FPucAw==\"}"),
    ] {
        let process = Process::new(&server, &KeepConfig::new());
        process.breaker.trip();
        let request = Request::post("/").header("idempotency-key", "k");
        let body = http_body_util::Full::new(bytes::Bytes::copy_from_slice(body));
        let job = kept(process.send(request.body(body).unwrap()).await);
        let state = process.job(job).await.state;
        assert!(state.contains(written), "{state}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_is_text_as_long_as_that_takes_no_more_space() {
    let server = Server::new([]);
    // What takes two bytes within JSON, and what takes one: as base64, each three bytes take four.
    let mut bodies = vec![("x".repeat(1_000), true)];
    for escaped in ["\"", "\\", "\n", "\r", "\t", "\u{8}", "\u{c}"] {
        bodies.push((escaped.repeat(18), true));
        bodies.push((escaped.repeat(21), false));
    }
    // Six bytes.
    bodies.push(("\u{1}".repeat(2), true));
    bodies.push(("\u{1}".repeat(3), false));
    for (body, is_text) in bodies {
        let process = Process::new(&server, &KeepConfig::new());
        process.breaker.trip();
        let job = kept(process.send(post("/", "k", &body)).await);
        let state = process.job(job).await.state;
        let text = serde_json::to_string(&body).unwrap();
        assert_eq!(state.contains(&text), is_text, "{state}");
        assert_eq!(state.contains("base64"), !is_text, "{state}");
    }
}

/// FNV-1a of method, URI, headers by name, and body, each after its length in eight bytes.
#[tokio::test(start_paused = true)]
async fn the_mark_of_a_request_is_the_same_in_each_release() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new());
    process.breaker.trip();
    let job = kept(process.send(post("/pay", "k", "body")).await);
    let state = process.job(job).await.state;
    assert!(state.contains("\"mark\":\"5a95146f6a83358a\""), "{state}");
}

#[tokio::test(start_paused = true)]
async fn what_keeps_requests_is_shown_without_what_it_keeps() {
    let server = Server::new([]);
    let keep = KeepConfig::new().header("x-tenant").query("page");
    let process: Process = Process::new(&server, &keep);
    let later = keep.replay::<KeepBody<String>, _, _>("later", "server", server.clone());
    let keeps = keep.layer::<_, String>(&process.steps, &later).unwrap();
    let body = KeepBody::<String>::from(b"SECRET".to_vec());
    for (shown, names) in [
        (format!("{body:?}"), ["KeepBody", "6", "true"]),
        (format!("{keep:?}"), ["KeepConfig", "x-tenant", "page"]),
        (format!("{keeps:?}"), ["KeepLayer", "KeepConfig", "later"]),
        (
            format!("{:?}", process.client),
            ["KeepService", "KeepLayer", "later"],
        ),
    ] {
        for name in names {
            assert!(shown.contains(name), "{shown} does not name {name}");
        }
        assert!(!shown.contains("SECRET"), "{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_key_of_a_job_reveals_no_password() {
    let server = Server::new([]);
    let mut keys = Vec::new();
    for user in ["", "user:1234@", "user:5678@"] {
        let process = Process::new(&server, &KeepConfig::new());
        process.breaker.trip();
        let uri = format!("https://{user}server.example/pay");
        let job = kept(process.send(with_secrets(&uri)).await);
        keys.push(process.job(job).await.key);
    }
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
}

#[tokio::test(start_paused = true)]
async fn a_header_of_very_many_values_is_sent_again_as_it_was() {
    let server = Server::new([]);
    let process = Process::new(&server, &KeepConfig::new().header("x-tenant"));
    process.breaker.trip();
    let mut request = post("/", "k", "");
    for _ in 0..40_000 {
        let value = HeaderValue::from_static("7");
        request.headers_mut().append("x-tenant", value);
    }
    let job = kept(process.send(request).await);
    process.breaker.reset();
    let worker = process.steps.work();
    sleep(MINUTE).await;
    assert_eq!(process.job(job).await.status, Status::Done);
    let sent = server.seen()[0].headers.get_all("x-tenant").iter().count();
    assert_eq!(sent, 40_000);
    worker.stop().await;
}
