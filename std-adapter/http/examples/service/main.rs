// SPDX-License-Identifier: MIT OR Apache-2.0
//! A service that calls others over HTTP, with one breaker per host.
//!
//! ```console
//! cargo run -p atomic-breaker-http --example service
//! ```
//!
//! Starts two hosts and the service before them on this machine, and asks the service for both while
//! one of them works, hangs, is overloaded and works again. Prints the service's responses and a log
//! line per transition, ends with the status page, and takes about five seconds.
//!
//! | file | what |
//! |---|---|
//! | `hosts` | **the map of breakers, their rules, their log: read this first** |
//! | `client` | the guarded call: the timeout inside, and the classification of failures |
//! | `api` | the routes of the service: a call to a host, and the status of all |
//! | `upstream` | a host that can be told to fail |

mod api;
mod client;
mod hosts;
mod upstream;

use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::http::StatusCode;
use client::Client;
use hosts::Hosts;
use tokio::net::TcpListener;
use tokio::time::sleep;
use upstream::{Mood, Upstream};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .without_time()
        .with_target(false)
        .init();

    let (accounts, images) = (Upstream::start().await?, Upstream::start().await?);
    let hosts = Arc::new(Hosts::new([
        ("accounts", accounts.address()),
        ("images", images.address()),
    ]));
    let service = start(Arc::clone(&hosts)).await?;

    // From here on this is the user of the service.
    let user = Client::new();
    for mood in [
        Mood::Healthy,
        Mood::Hanging,
        Mood::Overloaded,
        Mood::Healthy,
    ] {
        accounts.set(mood);
        println!("\naccounts is {mood:?}");
        for name in ["accounts", "accounts", "accounts", "accounts", "images"] {
            let (status, text) = ask(&user, service, name).await?;
            println!("  GET /call/{name}: {status}, {text}");
            if name == "images" && status != StatusCode::OK {
                return Err("a healthy host must not suffer from another".into());
            }
        }
        // Like a patient user: comes back when the breaker lets a call through.
        let rest = hosts
            .get("accounts")
            .and_then(|host| host.breaker.snapshot().retry_in());
        sleep(rest.unwrap_or_default()).await;
    }

    let page = user.get(&format!("http://{service}/status")).await?;
    println!("\nGET /status: {}", String::from_utf8_lossy(page.body()));
    println!("\ncalls that reached accounts: {} of 16", accounts.calls());
    match ask(&user, service, "accounts").await? {
        (StatusCode::OK, _) => Ok(()),
        (status, text) => {
            Err(format!("accounts works again, but the answer is {status}, {text}").into())
        }
    }
}

/// Starts the service at a free port.
async fn start(hosts: Arc<Hosts>) -> Result<SocketAddr, Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let routes = api::routes(hosts);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Ok(address)
}

async fn ask(
    user: &Client,
    service: SocketAddr,
    name: &str,
) -> Result<(StatusCode, String), client::Error> {
    let answer = user.get(&format!("http://{service}/call/{name}")).await?;
    let text = String::from_utf8_lossy(answer.body()).into_owned();
    Ok((answer.status(), text))
}
