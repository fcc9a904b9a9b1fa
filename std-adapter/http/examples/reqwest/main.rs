// SPDX-License-Identifier: MIT OR Apache-2.0
//! A service on axum that calls two others with reqwest, behind `ClientGuard`.
//!
//! ```console
//! cargo run -p atomic-breaker-http --features reqwest --example reqwest
//! ```
//!
//! Starts two hosts on this machine, and the service before them, whose page combines the responses of both. One of
//! them fails, and the page goes on without it; then it works again. Takes about two seconds.
//!
//! | file | what |
//! |---|---|
//! | `main` | the service and its user |
//! | `page` | **the guarded client, and a page that can do without a host: read this first** |
//! | `../client/hosts` | the hosts, which count what reaches them |

#[path = "../client/hosts.rs"]
mod hosts;
mod page;

use std::error::Error;
use std::time::{Duration, Instant};

use hosts::{Host, Mood};
use page::Page;
use tokio::net::TcpListener;
use tokio::time::sleep;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let (items, reviews) = (
        Host::start(Mood::Works).await?,
        Host::start(Mood::Works).await?,
    );
    let page = Page::new(&items.url(), &reviews.url())?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/", listener.local_addr()?);
    tokio::spawn(async move { axum::serve(listener, page::routes(page)).await });

    // From here on this is the user of the service.
    let user = reqwest::Client::builder().no_proxy().build()?;
    for mood in [Mood::Works, Mood::Hangs, Mood::Fails, Mood::Works] {
        reviews.set(mood);
        println!("reviews: {mood:?}");
        for _ in 0..3 {
            let (begin, calls) = (Instant::now(), reviews.calls());
            let answer = user.get(&url).send().await?.error_for_status()?;
            let (text, time) = (answer.text().await?, begin.elapsed().as_millis());
            let calls = reviews.calls() - calls;
            println!("  {time:>3} ms, {calls} sent to reviews: {text}");
        }
        // Until the breaker of a host that failed lets a probe through.
        let rest = page::GUARD.hosts().entry(&reviews.origin());
        let rest = rest.and_then(|entry| entry.snapshot.retry_in());
        sleep(rest.unwrap_or(Duration::ZERO)).await;
    }

    let text = user.get(&url).send().await?.text().await?;
    match text.as_str() {
        "items: hello; reviews: hello" => Ok(()),
        other => Err(format!("all hosts work again, and the page is {other:?}").into()),
    }
}
