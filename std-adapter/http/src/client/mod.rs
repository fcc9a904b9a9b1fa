//! Everything around an HTTP client, in the right order by construction: a deadline over all tries, retries with a
//! budget, a breaker per host, a time limit per try.
//!
//! ```text
//!  request ─→ deadline 10 s ─→ retry ─→ breaker of its host ─→ try 3 s ─→ your client
//! ```
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
//! |
//!
//! A request on its way through the files of this package, of those below it, and of the core:
//!
//! | step | where |
//! |---|---|
//! | the stack is put together | `client/layer`, the outermost layer last |
//! | deadline, retry | `client/deadline`; `tower/retry/future` with a `retry/course` for each request |
//! | which breaker | `tower/service`: `per_host` makes the key, `registry/permit` acquires for it |
//! | admitted or rejected | `registry/admission`; where the key has a slot, by the core's `acquire` |
//! | the try | `tower/time_limit`, then `client/fresh` and your client |
//! | what it means | `tower/future`: `classifier`, by `client/ending` at the head or at the end of the body |
//! | reported | `registry/report`; where the key has a slot, by the core's `report`: success leaves a clear word as it is |

mod budget;
mod check;
mod config;
mod deadline;
mod ending;
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
pub use guard::{ClientGuard, Hosts, SomeObserver};
pub use handle::AnyClientGuard;
pub use layer::{ClientLayer, ClientService, Guarded};
pub use outlive::{TryFuture, TryService};
