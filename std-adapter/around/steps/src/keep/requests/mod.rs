// SPDX-License-Identifier: MIT OR Apache-2.0
//! HTTP requests that are kept when a breaker rejects them or the server fails, and sent again when it is back. Feature
//! `http`.
//!
//! ```text
//!  request ─→ KeepLayer ─→ breaker ─→ client ─→ Now(response)
//!                 │ rejected, or failed for now
//!                 ▼
//!         Kept(job) ─ Store ─→ worker ─→ lane ─→ client
//! ```
//!
//! ```
//! use atomic_breaker_http::{HttpClassifier, UsualErrors};
//! use atomic_breaker_tower::{BreakerLayer, TimeLimitLayer};
//! use atomic_breaker_steps::{
//!     Breaker, Config, Lane, MemoryStore, Steps, breaker, requests::{Answer, KeepBody, KeepConfig},
//! };
//! use http::{Request, Response};
//! use std::{convert::Infallible, time::Duration};
//! use tower::{ServiceBuilder, ServiceExt, service_fn};
//!
//! static PAYMENTS: Breaker = breaker(Config::new());
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // In its place the client of hyper-util, say, whose requests have bodies of type `KeepBody<..>`.
//! let client = ServiceBuilder::new()
//!     .layer(TimeLimitLayer::new(Duration::from_secs(10)))
//!     .service(service_fn(|_: Request<KeepBody<String>>| async {
//!         Ok::<_, Infallible>(Response::new(String::new()))
//!     }));
//!
//! let keep = KeepConfig::new();
//! let later = keep.replay("payment", "payments", client.clone());
//! // In production a database.
//! let steps = Steps::builder(MemoryStore::new())
//!     .lane(Lane::new("payments").guarded(&PAYMENTS))
//!     .workflow(&later)
//!     .build()?;
//! let worker = steps.work();
//! let payments = ServiceBuilder::new()
//!     .layer(keep.layer(&steps, &later)?)
//!     .layer(BreakerLayer::new(&PAYMENTS).report(HttpClassifier::new().errors(UsualErrors)))
//!     .service(client);
//!
//! PAYMENTS.trip();
//! let request = Request::post("https://pay.example/orders")
//!     .header("idempotency-key", "order-7")
//!     .body("{}".to_owned())?;
//! match payments.oneshot(request).await? {
//!     Answer::Now(response) => println!("{}", response.status()),
//!     Answer::Kept(job) => println!("accepted: job {job}"),
//! }
//! worker.stop().await;
//! # Ok(()) }
//! ```
//!
//! The client for the replay is the one *below* the breaker, and the breaker is the lane's: while it is open, waiting
//! requests are not even looked for. With a client that goes through the breaker itself, such as one behind a
//! `ClientGuard`, the lane is [`guarded_within`](super::super::Lane::guarded_within).

mod answer;
mod body;
mod config;
mod keeping;
mod layer;
mod request;
mod rule;

pub use answer::{Answer, KeepError, NotKept};
pub use body::KeepBody;
pub use config::KeepConfig;
pub use layer::{KeepLayer, KeepService};
pub use request::KeptRequest;
