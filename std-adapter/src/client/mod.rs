//! Everything around an HTTP client, in the right order by construction: a deadline over all tries, retries with a
//! budget, a breaker per host, a time limit per try.
//!
//! ```text
//!  request ─→ deadline 10 s ─→ retry ─→ breaker of its host ─→ try 3 s ─→ your client
//! ```
//!
//! # Bounds
//!
//! Whoever leaves, and whenever, as each try [goes on](ClientConfig::outliving) to its limit:
//!
//! - A host that fails or hangs for good is tripped by as many of its calls as the rules count failures (five by default),
//!   a try's limit after the last of them.
//! - A host that is well for good is served again after the open time that runs (30 s and a fifth at most by default, or
//!   what it asked for by `Retry-After`, a minute and a fifth at most by default) and a probe, which takes a try's limit at most
//!   and begins with the next request. Where the rules want several successes, or a gradual return, after these, too.
//!
//! A body that is [reported at its end](ClientConfig::at_end_of_body) has no limit here, so a reader who leaves it while
//! it waits cancels the call: set [`Config::cancel_limit`](crate::Config::cancel_limit) above the time that readers wait.
//!
//! # Whose fault
//!
//! A dead host opens its breaker, and a mistake of the caller's does not: [`UsualErrors`](crate::http::UsualErrors) knows
//! the errors of hyper-util and reqwest, and [`ClientLayer::errors`] replaces it. The last failure beside a rejection names
//! the causes of the error: "transport: client error (Connect): tcp connect error: Connection refused (os error 111)".
//!
//! | file | what |
//! |---|---|
//! | `config` | [`ClientConfig`]: all settings, with sane defaults |
//! | `plan` | the settings as text |
//! | `check` | what contradicts itself, and how it is said |
//! | `ending` | when a try is reported: at the head, or at the end of the body |
//! | `fresh` | a connection that broke before an answer is a reason to try a fresh one |
//! | `budget` | the budget of retries of a request's host |
//! | `guard` | [`ClientGuard`]: what outlives the requests |
//! | `layer` | [`ClientLayer`]: what goes around a client |
//! | `deadline` | [`DeadlineService`]: the time of a request, [its own](Deadline) or that of all |
//! | `outlive` | [`TryService`]: tries that go on when their callers leave |
//! | `error` | [`RequestError`]: why there is no response |
//!
//! A request on its way through the files of this crate, and of the core:
//!
//! | step | where |
//! |---|---|
//! | the stack is put together | `client/layer`, the outermost layer last |
//! | deadline, retry | `client/deadline`; `retry/future` with a `retry/course` for each request |
//! | which breaker | `tower/service`: `http/per_host` makes the key, `registry/permit` acquires for it |
//! | admitted or rejected | `registry/admission`, where the key has a slot by the core's `acquire` |
//! | the try | `tower/time_limit`, then `client/fresh` and your client |
//! | what it means | `tower/future`: `http/classifier`, by `client/ending` at the head or at the end of the body |
//! | reported | `registry/report`, where the key has a slot by the core's `report`: success leaves a clear word as it is |

mod budget;
mod check;
mod config;
mod deadline;
mod ending;
mod error;
mod fresh;
mod guard;
mod layer;
mod outlive;
mod plan;

pub use check::ClientConfigError;
pub use config::ClientConfig;
pub use deadline::DeadlineService;
pub use ending::{AtEndOfBody, AtHead, Ending, Tried};
pub use error::RequestError;
pub use guard::{ClientGuard, Hosts};
pub use layer::{ClientLayer, ClientService};
pub use outlive::{TryFuture, TryService};

pub use crate::retry::Deadline;
