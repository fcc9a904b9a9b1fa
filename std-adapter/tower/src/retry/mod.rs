// SPDX-License-Identifier: MIT OR Apache-2.0
//! Retries above a breaker: bounded in number, in time and by a budget, with pauses that differ from request to request.
//!
//! ```text
//!  request ─→ Retry ─→ BreakerLayer ─→ time limit of a try ─→ service
//!               │           │
//!               │           ├ rejected: returns at once; or, if that is set or the server has asked
//!               │           │           for the pause before, waits for retry_in, at no cost
//!               │           └ admitted: a try, which lets the response of the last one go
//!               ├ success:  deposits a share of a token; returns
//!               ├ ignored:  returns, unless the server says when to try again: then as below
//!               └ failure:  may this request be sent twice? is a try left? does the pause end in time?
//!                           has the budget a token?  ─ yes ─→ pauses, then asks the breaker again
//! ```
//!
//! | file | what |
//! |---|---|
//! | `policy`, `config` | which requests are retried: [`RetryPolicy`]; how often, and with which pauses |
//! | `layer` | [`RetryLayer`] |
//! | `observed` | the observer of a layer |
//! | `service`, `course` | one request with its tries; how far it has come, and what follows |
//! | `budget`, `tokens`, `budgets` | how many retries all requests together may make, or those of each host |

mod budget;
mod budgets;
mod config;
mod course;
mod layer;
mod observed;
mod policy;
mod service;
mod tokens;

pub use budget::{BudgetConfig, BudgetOf, RetryBudget};
pub use budgets::{BudgetByKey, RetryBudgets};
pub use config::{Backoff, RetryConfig, RetryConfigError};
pub use layer::RetryLayer;
pub use observed::{ObserveRetries, ObservedBy};
pub use policy::RetryPolicy;
pub use service::{RetryFuture, RetryService};
