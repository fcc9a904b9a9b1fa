// SPDX-License-Identifier: MIT OR Apache-2.0
//! A service with an admin page behind its own authentication.
//!
//! ```console
//! cargo run -p atomic-breaker-admin --example admin
//! cargo run -p atomic-breaker-admin --example admin -- --stay
//! ```
//!
//! Calls hosts of which some fail, and serves the page. The first command looks at the states, resets a host by the
//! API, and ends after three seconds; the second goes on until it is stopped: open the address that it prints.
//!
//! | file | what |
//! |---|---|
//! | `app` | **the router: authentication around the admin; read this first** |
//! | `load` | hosts that fail now and then, and calls to them |

mod app;
mod load;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let stays = std::env::args().any(|argument| argument == "--stay");
    let service = Arc::new(app::Service::new()?);
    let router = app::router(&service)?;
    let port = if stays { 8080 } else { 0 };
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move { axum::serve(listener, router).await });
    tokio::spawn(load::run(Arc::clone(&service)));
    println!("http://{address}/breakers");
    if stays {
        return std::future::pending().await;
    }

    sleep(Duration::from_secs(2)).await;
    let status = ask(address, "GET", "status?state=open", Value::Null).await?;
    for entry in status["entries"].as_array().ok_or("a list")? {
        println!(
            "open: {} of {}, {}",
            entry["key"], entry["of"], entry["last_failure"]["text"]
        );
    }
    let open = &status["entries"][0];
    let reset = json!({ "of": open["of"], "key": open["key"], "do": "reset" });
    println!(
        "reset {}: {}",
        open["key"],
        ask(address, "POST", "control", reset).await?["text"]
    );
    sleep(Duration::from_secs(1)).await;
    let timeline = ask(address, "GET", "timeline", Value::Null).await?;
    let events = timeline["events"].as_array().ok_or("a list")?;
    let by_hand: Vec<_> = events
        .iter()
        .filter(|event| event["by"] == "alice")
        .collect();
    println!("{} transitions, by hand: {}", events.len(), by_hand.len());
    if by_hand.len() == 1 {
        Ok(())
    } else {
        Err("the reset is in the timeline".into())
    }
}

/// A request as an operator's script would send it, as alice.
async fn ask(
    service: SocketAddr,
    method: &str,
    path: &str,
    change: Value,
) -> Result<Value, Box<dyn Error>> {
    let request = Request::builder()
        .method(method)
        .uri(format!("http://{service}/breakers/{path}"))
        .header("authorization", "Basic YWxpY2U6c2VjcmV0")
        .header("content-type", "application/json")
        .body(Body::from(change.to_string()))?;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let answer = client.request(request).await?;
    let body = to_bytes(Body::new(answer.into_body()), 1 << 20).await?;
    Ok(serde_json::from_slice(&body)?)
}
