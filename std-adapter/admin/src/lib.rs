//! The state of breakers as JSON, control by key, and a page for both: a router that a service nests behind its own
//! authentication.
//!
//! ```
//! use atomic_breaker_admin::{Admin, Operator, Timeline};
//! use atomic_breaker_registry::{Config, Registry, Resource, breaker};
//! use axum::extract::Request;
//! use axum::http::StatusCode;
//! use axum::middleware::{Next, from_fn};
//! use axum::response::Response;
//! use axum::Router;
//! use std::sync::Arc;
//!
//! static PAYMENTS: Resource = Resource::new(breaker(Config::new()));
//!
//! /// The service's own authentication, which names the operator.
//! async fn authenticate(mut request: Request, next: Next) -> Result<Response, StatusCode> {
//!     let operator = match request.headers().get("x-user").and_then(|user| user.to_str().ok()) {
//!         Some(user) => Operator::new(user),
//!         None => return Err(StatusCode::UNAUTHORIZED),
//!     };
//!     request.extensions_mut().insert(operator);
//!     Ok(next.run(request).await)
//! }
//!
//! fn app() -> Result<Router, Box<dyn std::error::Error>> {
//!     let timeline = Timeline::new();
//!     let hosts = Registry::<String>::builder(Config::new()).observer(timeline.of("hosts")).build()?;
//!     let hosts = Arc::new(hosts);
//!
//!     let admin = Admin::new(&timeline)
//!         .registry("hosts", Arc::clone(&hosts))
//!         .resource("payments", &PAYMENTS)
//!         .hosts(["admin.example.com"])
//!         .router()?
//!         .layer(from_fn(authenticate));
//!     Ok(Router::new().nest_service("/breakers", admin))
//! }
//! # assert!(app().is_ok());
//! ```
//!
//! `docs/admin.md` in the repository describes the fields, the requests with `curl`, what is checked, and the limits.
//!
//! | module | contents |
//! |---|---|
//! | `text`, `response` | texts that may come from outside; what each response carries |
//! | `operator` | who acts: authentication puts this into each request |
//! | `gate` | which requests are let in: hosts, origins, methods |
//! | `timeline` | the observer that records transitions, and what it keeps |
//! | `named`, `source` | what stands under a name: registries and single breakers of any type, fleets, jobs in any store |
//! | `shown`, `request` | what responses are made from; what a request asks |
//! | `status`, `history`, `events` | what is read: states, the timeline, both live |
//! | `control` | what is changed |
//! | `jobs` | jobs of durable steps: read, tried again, cancelled |
//! | `page` | the page itself: markup, style, script |
//! | `router` | from a path to its handler |
//! | `builder`, `error` | builds an admin, and says what is wrong with its settings |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

mod builder;
mod control;
mod error;
mod events;
mod gate;
mod history;
#[cfg(feature = "steps")]
mod jobs;
mod named;
mod operator;
mod page;
mod request;
mod response;
mod router;
mod shown;
mod source;
mod status;
mod text;
mod timeline;

pub use builder::Admin;
pub use error::AdminError;
pub use operator::Operator;
pub use timeline::{Recorder, Timeline};

/// The code of the page in the repository, compiled and run.
#[cfg(all(doctest, feature = "steps"))]
#[doc = include_str!("../../../docs/admin.md")]
mod page_of_docs {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
