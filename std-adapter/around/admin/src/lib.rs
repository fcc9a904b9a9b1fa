// SPDX-License-Identifier: MIT OR Apache-2.0
//! The state of breakers as JSON, control by key, and a page for both: a router that a service nests behind its own
//! authentication.
//!
//! ```
//! use atomic_breaker_admin::{Admin, Operator, Timeline};
//! use atomic_breaker_server::{Config, Registry, Resource, breaker};
//! use axum::{Extension, Router};
//! use std::sync::Arc;
//!
//! static PAYMENTS: Resource = Resource::new(breaker(Config::new()));
//!
//! fn app() -> Result<Router, Box<dyn std::error::Error>> {
//!     let timeline = Timeline::new();
//!     let hosts = Registry::<String>::builder(Config::new()).observer(timeline.recorder("hosts")).build()?;
//!     let hosts = Arc::new(hosts);
//!
//!     let admin = Admin::new(&timeline)
//!         .registry("hosts", Arc::clone(&hosts))
//!         .resource("payments", &PAYMENTS)
//!         .hosts(["admin.example.com"])
//!         .router()?
//!         .layer(Extension(Operator::new("alice"))); // in place of the service's authentication: see `Operator`
//!     Ok(Router::new().nest_service("/breakers", admin))
//! }
//! # assert!(app().is_ok());
//! ```
//!
//! # What it has
//!
//! | you want to | use |
//! |---|---|
//! | show and control registries, single breakers, fleets and jobs | [`Admin`], which makes a router of axum |
//! | remember what happened | [`Timeline`], and [`Timeline::recorder`] as the observer of each |
//! | say who acts | [`Operator`] |
//! | tell load balancers and orchestrators whether this process is ready | [`Readiness`] |
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `fleet` | `Admin::fleet`: how this process stands in a fleet |
//! | `mapped` | `Admin::slab`: breakers of many keys that processes share |
//! | `steps` | `Admin::steps`: durable jobs are listed, tried again and cancelled |
//!
//! # Where to read on
//!
//! The page [docs/admin.md] describes what is checked, and the limits; [docs/admin-json.md] the requests with `curl`, and the
//! fields.
#![doc = ""]
#![doc = concat!("[docs/admin.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/std-adapter/around/docs/admin.md")]
#![doc = concat!("[docs/admin-json.md]: ", env!("CARGO_PKG_REPOSITORY"), "/blob/main/std-adapter/around/docs/admin-json.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![doc(test(attr(deny(warnings), allow(dead_code))))]
#![forbid(unsafe_code)]

// The modules, in the order in which to read them:
// - `text`, `response`: texts that may come from outside; what each response carries
// - `error`, `operator`: what is wrong with the settings; who acts
// - `gate`: which requests are let in: hosts, origins, methods
// - `timeline`: the observer that records transitions, and what it keeps
// - `source`: what stands under a name: registries and single breakers of any type, fleets
// - `jobs`: jobs of durable steps in any store: read, tried again, cancelled
// - `labels`: the names that people know keys by, and the address of the runbook
// - `admin`: what is shown, and to which clients
// - `status`, `history`, `events`: what is read: states, the timeline, both live
// - `control`: what is changed
// - `page`: the page itself: markup, style, script
// - `router`: from a request to its response
// - `readiness`: whether this process is ready, for load balancers and orchestrators

mod admin;
mod control;
mod error;
mod events;
mod gate;
mod history;
#[cfg(feature = "steps")]
mod jobs;
mod labels;
mod operator;
mod page;
mod readiness;
mod response;
mod router;
mod source;
mod status;
mod text;
mod timeline;

pub use admin::Admin;
pub use error::AdminError;
pub use operator::Operator;
pub use readiness::Readiness;
pub use timeline::{Recorder, Timeline};

/// The code of the page in the repository, compiled and run.
#[cfg(all(doctest, feature = "steps"))]
#[doc = include_str!("../../docs/admin.md")]
mod page_of_docs {}

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
