//! Retries above a breaker: bounded in number, in time and by a budget, with pauses that differ from request to request.
//!
//! ```text
//!  request ─→ Retry ─→ BreakerLayer ─→ time limit of a try ─→ service
//!               │           │
//!               │           ├ rejected: returns at once; or, if that is set or the server has asked
//!               │           │           for the pause before, waits for retry_in, at no cost
//!               │           └ made:     a try
//!               ├ success:  deposits a share of a token; returns
//!               ├ ignored:  returns
//!               └ failure:  may this request be sent twice? is a try left? does the pause end in time?
//!                           has the budget a token?  ─ yes ─→ pauses, then asks the breaker again
//! ```
//!
//! | file | what |
//! |---|---|
//! | `layer`, `policy` | [`RetryLayer`], and the [`RetryPolicy`] that it follows |
//! | `future`, `course` | one request with its tries; how far it has come, and what follows |
//! | `config` | [`RetryConfig`]: the numbers |
//! | `backoff` | [`Backoff`]: how long to pause |
//! | `budget`, `budget_config`, `tokens` | [`RetryBudget`]: how many retries all requests together may make |
//! | `budgets` | [`RetryBudgets`]: one for each host or other key |
//! | `idempotent` | [`Idempotent`]: which requests may be sent twice |
//! | `hint` | [`RetryHint`]: how long the server asks to wait |

mod backoff;
mod budget;
mod budget_config;
mod budgets;
mod config;
mod course;
mod future;
mod hint;
mod idempotent;
mod layer;
mod policy;
mod tokens;

pub use backoff::Backoff;
pub use budget::{AnyBudget, BudgetSnapshot, RetryBudget};
pub use budget_config::BudgetConfig;
pub use budgets::{BudgetByKey, BudgetOf, RetryBudgets};
pub use config::{RetryConfig, RetryConfigError};
pub use future::RetryFuture;
pub use hint::{NoHint, RetryHint};
pub use idempotent::Idempotent;
pub use layer::{RetryLayer, RetryService};
pub use policy::RetryPolicy;
