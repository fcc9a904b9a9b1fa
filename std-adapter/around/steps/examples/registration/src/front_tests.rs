// SPDX-License-Identifier: MIT OR Apache-2.0
//! Users of the front end, over HTTP, and strangers.

use std::net::Ipv4Addr;
use std::time::{Duration, Instant};

use atomic_breaker_steps::{JobId, Lane, MemoryStore, StepError, Steps, Store, Workflow};
use reqwest::{Client, RequestBuilder, Response, StatusCode, header};
use tokio::net::TcpListener;
use tokio::time::sleep;

use super::{is_same, read, router};
use crate::registration::Registration;

const KEY: &str = "0123456789abcdef";

/// Two steps of this length; a card that has expired ends the second one.
async fn serve(store: &MemoryStore, takes: Duration) -> (String, Client) {
    let registrations = Workflow::new("registration")
        .step("create the account", "accounts", move |user| async move {
            sleep(takes).await;
            Ok::<_, StepError>(Registration {
                account: Some("account 7".to_owned()),
                ..user
            })
        })
        .step(
            "charge the card",
            "bank",
            move |user: Registration| async move {
                sleep(takes).await;
                match &*user.card {
                    "expired" => Err(StepError::end("the bank says no")),
                    _ => Ok(user),
                }
            },
        );
    let steps = Steps::builder(store.clone())
        .lane(Lane::new("accounts"))
        .lane(Lane::new("bank"))
        .workflow(&registrations)
        .build()
        .unwrap();
    let worker = steps.work();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = router(steps, registrations);
    tokio::spawn(async move {
        let _worker = worker;
        axum::serve(listener, router).await
    });
    let client = Client::builder().no_proxy().build();
    (url, client.unwrap())
}

fn post(of: &(String, Client), key: &str, card: &str, query: &str) -> RequestBuilder {
    let (url, client) = of;
    client
        .post(format!("{url}/registrations{query}"))
        .header("idempotency-key", key)
        .header(header::CONTENT_TYPE, "application/json")
        .body(format!(
            r#"{{"address":"ann@example.com","card":"{card}"}}"#
        ))
}

async fn get((url, client): &(String, Client), path: &str) -> (StatusCode, String) {
    let response = client.get(format!("{url}{path}")).send().await.unwrap();
    (response.status(), response.text().await.unwrap())
}

fn location(response: &Response) -> String {
    let location = &response.headers()[header::LOCATION];
    location.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn done_in_time_the_response_has_the_result() {
    let served = serve(&MemoryStore::new(), Duration::from_millis(20)).await;
    let response = post(&served, KEY, "valid", "").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(response.headers()[header::CACHE_CONTROL], "no-store");
    let ticket = location(&response);
    let body = response.text().await.unwrap();
    assert!(body.contains(r#""status":"done""#), "{body}");
    assert!(body.contains(r#""account":"account 7""#), "{body}");
    assert!(!body.contains("valid"), "no card: {body}");
    assert_eq!(get(&served, &ticket).await, (StatusCode::OK, body));
}

#[tokio::test]
async fn not_done_in_time_its_user_asks_how_far_it_is_and_waits() {
    let served = serve(&MemoryStore::new(), Duration::from_millis(600)).await;
    let kept = post(&served, KEY, "valid", "?wait_ms=100").send();
    let kept = kept.await.unwrap();
    assert_eq!(kept.status(), StatusCode::ACCEPTED);
    let ticket = location(&kept);
    // The same request once more is the same registration.
    let again = post(&served, KEY, "valid", "?wait_ms=0").send();
    assert_eq!(location(&again.await.unwrap()), ticket);
    let (_, body) = get(&served, &ticket).await;
    assert!(body.contains(r#""steps_done":0"#), "{body}");
    assert!(body.contains(r#""account":null"#), "{body}");
    sleep(Duration::from_millis(700)).await;
    let (_, body) = get(&served, &ticket).await;
    assert!(body.contains(r#""step":"charge the card""#), "{body}");
    assert!(body.contains(r#""account":"account 7""#), "{body}");
    // However long it wants to wait: until the end.
    let waits = format!("{ticket}?wait_ms=99999999");
    let (code, body) = get(&served, &waits).await;
    assert_eq!(code, StatusCode::OK);
    assert!(body.contains(r#""status":"done""#), "{body}");
}

#[tokio::test]
async fn what_cannot_be_done_is_not_explained_to_strangers() {
    let served = serve(&MemoryStore::new(), Duration::ZERO).await;
    let response = post(&served, KEY, "expired", "").send().await.unwrap();
    assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY);
    let body = response.text().await.unwrap();
    assert!(body.contains(r#""status":"dead""#), "{body}");
    assert!(!body.contains("bank says"), "{body}");
}

#[tokio::test]
async fn without_its_ticket_a_job_is_not_there_and_nothing_waits() {
    let store = MemoryStore::new();
    let served = serve(&store, Duration::from_secs(60)).await;
    let kept = post(&served, KEY, "valid", "?wait_ms=0").send();
    let ticket = location(&kept.await.unwrap());
    let (id, token) = ticket["/jobs/".len()..].split_once('-').unwrap();
    let wrong = token.chars().rev().collect::<String>();
    let began = Instant::now();
    for hostile in [
        id.to_owned(),
        format!("{id}-"),
        format!("{id}-{wrong}"),
        format!("{id}-{}", &token[1..]),
        format!("2-{token}"),
        format!("-{id}-{token}"),
        format!("{}-{token}", i64::MIN),
        format!("{}-{token}", u64::MAX),
        format!("{id}-{token}0"),
        format!("{id}%00-{token}"),
        "..%2f..".to_owned(),
        "%27%20OR%201".to_owned(),
    ] {
        let (code, body) = get(&served, &format!("/jobs/{hostile}?wait_ms=5000")).await;
        assert_eq!((code, &*body), (StatusCode::NOT_FOUND, ""), "{hostile}");
    }
    assert!(began.elapsed() < Duration::from_secs(4));
    let (code, _) = get(&served, &ticket).await;
    assert_eq!(code, StatusCode::OK);
    store.cancel(JobId::new(id.parse().unwrap())).await.unwrap();
    sleep(Duration::from_millis(5)).await;
    store.forget(Duration::ZERO, 9).await.unwrap();
    assert_eq!(get(&served, &ticket).await.0, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn requests_that_make_no_sense_are_rejected() {
    let served = serve(&MemoryStore::new(), Duration::ZERO).await;
    for (key, query) in [
        ("user-7", ""),
        ("", ""),
        (KEY, "?wait_ms=-1"),
        (KEY, "?wait_ms=soon"),
    ] {
        let response = post(&served, key, "valid", query).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::BAD_REQUEST, "{key} {query}");
    }
    let first = post(&served, KEY, "valid", "").send().await.unwrap();
    assert_eq!(first.status(), StatusCode::CREATED);
    let other = post(&served, KEY, "another", "").send().await.unwrap();
    assert_eq!(other.status(), StatusCode::UNPROCESSABLE_ENTITY);
    assert!(!other.headers().contains_key(header::LOCATION));
    let long = post(&served, KEY, &"x".repeat(20_000), "").send().await;
    assert_eq!(long.unwrap().status(), StatusCode::PAYLOAD_TOO_LARGE);
}

#[test]
fn a_registration_without_a_token_has_no_ticket() {
    assert_eq!(read("7-"), None);
    let token = "0123456789abcdef0123456789abcdef";
    assert_eq!(read(&format!("7-{token}")), Some((JobId::new(7), token)));
    assert!(is_same(token, token) && !is_same("", token) && !is_same(token, &token[1..]));
}
