//! Everything around an HTTP client, in the right order by construction: a deadline over all tries, retries with a
//! budget, a breaker per host, a time limit per try.
//!
//! ```text
//!  request ─→ deadline 10 s ─→ retry ─→ breaker of its host ─→ try 3 s ─→ your client
//! ```
//!
//! # Bounds
//!
//! These hold whichever callers leave, and whenever, as each try [continues](ClientConfig::outliving) to its limit:
//!
//! - A host that fails or hangs permanently is tripped by as many of its calls as the rules require failures (five by
//!   default), within one try limit of the last of them.
//! - A host that stays healthy is served again after the current open time (by default at most 30 s plus a fifth, or
//!   what it asked for with `Retry-After`, by default at most a minute plus a fifth) and a probe, which takes at most
//!   the limit of a try and begins with the next request. If the rules require several successes or a gradual return,
//!   these come on top.
//!
//! A body that is [reported at its end](ClientConfig::at_end_of_body) has no limit here, so a reader that leaves while
//! waiting for it cancels the call: set [`Config::cancel_limit`](crate::Config::cancel_limit) to more than the time
//! that readers wait.
//!
//! # Whose fault
//!
//! A dead host opens its breaker, a mistake of the caller does not: [`UsualErrors`](crate::http::UsualErrors) knows the
//! errors of hyper-util and reqwest, and [`ClientLayer::errors`] replaces it. The last failure in a rejection names the
//! causes of the error: "transport: client error (Connect): tcp connect error: Connection refused (os error 111)".
//!
//! | file | what |
//! |---|---|
//! | `config` | [`ClientConfig`]: all settings, with sane defaults |
//! | `plan` | the settings as text |
//! | `check` | settings that contradict each other, and how the errors say so |
//! | `ending` | when a try is reported: at the head, or at the end of the body |
//! | `fresh` | after a connection broke before an answer, a fresh one is tried |
//! | `budget` | the retry budget of a request's host |
//! | `guard`, `handle` | [`ClientGuard`]: the state that outlives the requests; what leads to it |
//! | `layer` | [`ClientLayer`]: the layer around a client |
//! | `deadline` | [`DeadlineService`]: the time limit of a request, [its own](Deadline) or that of all |
//! | `outlive` | [`TryService`]: tries that continue when their callers leave |
//! | `error` | [`RequestError`]: why there is no response |
//!
//! A request on its way through the files of this crate, and of the core:
//!
//! | step | where |
//! |---|---|
//! | the stack is put together | `client/layer`, the outermost layer last |
//! | deadline, retry | `client/deadline`; `retry/future` with a `retry/course` for each request |
//! | which breaker | `tower/service`: `http/per_host` makes the key, `registry/permit` acquires for it |
//! | admitted or rejected | `registry/admission`; where the key has a slot, by the core's `acquire` |
//! | the try | `tower/time_limit`, then `client/fresh` and your client |
//! | what it means | `tower/future`: `http/classifier`, by `client/ending` at the head or at the end of the body |
//! | reported | `registry/report`; where the key has a slot, by the core's `report`: success leaves a clear word as it is |

mod budget;
mod check;
mod config;
mod deadline;
mod ending;
mod error;
mod fresh;
mod guard;
mod handle;
mod layer;
mod outlive;
mod plan;

pub use check::ClientConfigError;
pub use config::ClientConfig;
pub use deadline::DeadlineService;
pub use ending::{AtEndOfBody, AtHead, Ending, Tried};
pub use error::RequestError;
pub use guard::{ClientGuard, Hosts, SomeObserver};
pub use handle::AnyClientGuard;
pub use layer::{ClientLayer, ClientService};
pub use outlive::{TryFuture, TryService};

pub use crate::http::Deadline;
