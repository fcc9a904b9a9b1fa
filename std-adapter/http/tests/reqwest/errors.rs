// SPDX-License-Identifier: MIT OR Apache-2.0
//! The errors that are the host's fault.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker_http::{
    ClientError, ErrorRule, Failure, HttpClassifier, HttpRules, Outcome, RequestError,
    ReqwestErrors, ServiceError, Timed, UsualErrors, WithCauses,
};
use atomic_breaker_server::{CallError, Rejected};
use http_body::{Body, Frame};
use reqwest::Client;
use reqwest::redirect::Policy;

use super::server::{Down, reqwest, start};

/// The body of a request that fails while it is sent.
struct Torn;

impl Body for Torn {
    type Data = &'static [u8];
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<&'static [u8]>>>> {
        Poll::Ready(Some(Err(io::Error::other("the file is gone"))))
    }
}

/// The outcome of an error: as reqwest returns it, and within those of layers.
fn outcome(error: reqwest::Error) -> Outcome {
    let plain = ReqwestErrors.outcome(&error);
    macro_rules! within {
        ($error:ident, $variant:path) => {
            let within = $variant($error);
            assert_eq!(ReqwestErrors.outcome(&within), plain, "{within:?}");
            let $variant($error) = within else {
                unreachable!()
            };
        };
    }
    within!(error, Timed::Failed);
    within!(error, CallError::<_, Rejected>::Failed);
    within!(error, ServiceError::Failed);
    within!(error, RequestError::Failed);
    let error = ClientError::from(error);
    assert_eq!(ReqwestErrors.outcome(&error), plain, "{error:?}");
    // The error of this crate's client is known to the rule for all clients, too.
    assert_eq!(UsualErrors.outcome(&error), plain, "{error:?}");
    let error = io::Error::other(error);
    assert_eq!(UsualErrors.outcome(&error), plain, "{error:?}");
    plain
}

#[tokio::test]
async fn the_rule_for_all_clients_says_the_same_with_and_without_reqwest() {
    // It judges by hyper's errors, which are there without this feature, and these are reqwest's own.
    let builder = error_of(&reqwest(), "/path").await;
    assert!(builder.is_builder());
    assert_eq!(UsualErrors.outcome(&builder), Failure::new().into());
    let status = reqwest().get(start().url("/404")).send().await.unwrap();
    let status = status.error_for_status().unwrap_err();
    assert_eq!(UsualErrors.outcome(&status), Failure::new().into());
}

async fn error_of(client: &Client, url: &str) -> reqwest::Error {
    client.get(url).send().await.unwrap_err()
}

#[tokio::test]
async fn a_host_that_does_not_respond_has_failed() {
    let (server, down, client) = (start(), Down::new(), reqwest());
    let in_time = Client::builder()
        .no_proxy()
        .timeout(Duration::from_millis(20))
        .build()
        .unwrap();
    for error in [
        error_of(&client, &down.url).await,
        error_of(&client, &server.url("/closes")).await,
        error_of(&client, &server.url("/no-http")).await,
        error_of(&in_time, &server.url("/hangs")).await,
    ] {
        let text = format!("{error:?}");
        assert_eq!(outcome(error), Failure::new().into(), "{text}");
    }
}

#[tokio::test]
async fn a_callers_mistake_is_ignored() {
    let (server, client) = (start(), reqwest());
    let torn = client
        .post(server.url("/"))
        .body(reqwest::Body::wrap(Torn))
        .send();
    let bad_header = client.get(server.url("/")).header("a header", "1").send();
    for error in [
        torn.await.unwrap_err(),
        bad_header.await.unwrap_err(),
        error_of(&client, "/path").await,
        error_of(&client, "ftp://127.0.0.1/").await,
    ] {
        let text = format!("{error:?}");
        assert_eq!(outcome(error), Outcome::Ignored, "{text}");
    }
}

#[tokio::test]
async fn a_host_that_redirects_too_often_has_responded() {
    let server = start();
    let client = Client::builder()
        .no_proxy()
        .redirect(Policy::limited(2))
        .build()
        .unwrap();
    let error = error_of(&client, &server.url("/to?/to?/to?/to?/to")).await;
    assert!(error.is_redirect(), "{error:?}");
    assert_eq!(outcome(error), Outcome::Success);
}

#[tokio::test]
async fn an_error_with_a_status_counts_as_that_status() {
    let (server, client) = (start(), reqwest());
    for (path, expected) in [("/404", Outcome::Success), ("/503", Failure::new().into())] {
        let response = client.get(server.url(path)).send().await.unwrap();
        let error = response.error_for_status().unwrap_err();
        assert_eq!(outcome(error), expected, "{path}");
    }
}

#[tokio::test]
async fn the_text_names_the_causes_and_not_the_url() {
    let down = Down::new();
    let error = error_of(&reqwest(), &down.url).await;
    assert!(error.to_string().contains("secret"));
    let reason = HttpClassifier::new().reason(&Err::<reqwest::Response, _>(&error));
    assert!(reason.is_some());
    let text = WithCauses(error).to_string();
    assert_eq!(
        ClientError::from(error_of(&reqwest(), &down.url).await).to_string(),
        text
    );
    let beginning = "error sending request: client error (Connect): tcp connect error: ";
    assert!(text.starts_with(beginning), "{text}");
    assert!(!text.contains("secret"), "{text}");
}

#[tokio::test]
async fn nor_is_the_url_of_a_cause_named() {
    let server = start();
    // Such as that of an https-only client that is redirected to http.
    let policy = Policy::custom(|attempt| {
        let url = attempt.url().clone();
        let cause = reqwest().get("no url").build().unwrap_err();
        attempt.error(cause.with_url(url))
    });
    let client = Client::builder()
        .no_proxy()
        .redirect(policy)
        .build()
        .unwrap();
    let error = error_of(&client, &server.url("/to?/?key=secret")).await;
    assert!(error.is_redirect(), "{error:?}");
    let error = ClientError::from(error);
    let text = error.to_string();
    assert!(
        text.starts_with("error following redirect: builder error"),
        "{text}"
    );
    assert!(!text.contains("secret"), "{text}");
}
