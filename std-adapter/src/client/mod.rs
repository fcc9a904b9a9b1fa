//! Everything around an HTTP client, in the right order by construction: a deadline over all tries, retries with a
//! budget, a breaker per host, a time limit per try.
//!
//! ```text
//!  request ─→ deadline 10 s ─→ retry ─→ breaker of its host ─→ try 3 s ─→ your client
//! ```
//!
//! A dead host opens its breaker, and a mistake of the caller's does not: [`UsualErrors`](crate::http::UsualErrors) knows
//! the errors of hyper-util and reqwest, and [`ClientLayer::errors`] replaces it. The last failure beside a rejection names
//! the causes of the error: "transport: client error (Connect): tcp connect error: Connection refused (os error 111)".
//!
//! | file | what |
//! |---|---|
//! | `config` | [`ClientConfig`]: all settings, with sane defaults |
//! | `check` | what contradicts itself, and how it is said |
//! | `ending` | when a try is reported: at the head, or at the end of the body |
//! | `guard` | [`ClientGuard`]: what outlives the requests |
//! | `layer` | [`ClientLayer`]: what goes around a client |
//! | `error` | [`RequestError`]: why there is no response |
//!
//! A request on its way through the files of this crate, and of the core:
//!
//! | step | where |
//! |---|---|
//! | the stack is put together | `client/layer`, the outermost layer last |
//! | deadline, retry | `tower/time_limit`; `retry/policy` with a `retry/session` for each request |
//! | which breaker | `tower/service`: `registry/by_key` makes the key, `registry/permit` acquires for it |
//! | admitted or rejected | `registry/admission`, where the key has a slot by the core's `acquire` |
//! | the try | `tower/time_limit`, then your client |
//! | what it means | `tower/future`: `http/classifier`, by `client/ending` at the head or at the end of the body |
//! | reported | `registry/report`, where the key has a slot by the core's `report`: success leaves a clear word as it is |

mod check;
mod config;
mod ending;
mod error;
mod guard;
mod layer;

pub use check::ClientConfigError;
pub use config::ClientConfig;
pub use ending::{AtEndOfBody, AtHead, Ending, Tried};
pub use error::RequestError;
pub use guard::{ClientGuard, Hosts};
pub use layer::{ClientLayer, ClientService};
