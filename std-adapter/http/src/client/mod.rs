//! Everything around an HTTP client, in the right order by construction: a deadline over all tries, retries with a
//! budget, a breaker per host, a time limit per try.
//!
//! ```text
//!  request ─→ deadline 10 s ─→ retry ─→ breaker of its host ─→ try 3 s ─→ your client
//! ```
//!
//! | file | what |
//! |---|---|
//! | `config`, `check`, `plan` | [`ClientConfig`]: the settings; those that contradict each other; as text |
//! | `ending` | when a try is reported: at the head, or at the end of the body |
//! | `guard`, `handle` | [`ClientGuard`]: the state that outlives the requests; what leads to its parts |
//! | `layer` | [`ClientLayer`] and [`ClientService`] |
//! | `deadline` | the time limit of a request, its own or that of all |
//! | `outlive` | tries that continue when their callers leave |
//! | `fresh` | after a connection broke before a response, a fresh one within the same try |
//!
//! A request on its way:
//!
//! | step | where |
//! |---|---|
//! | the stack is put together | `layer`, the outermost layer last |
//! | deadline, retry | `deadline`; `retry` of the package `tower`, with a `Course` for each request |
//! | which breaker | `per_host` makes the key; `permit` of the package `registry` acquires for it |
//! | the try | `outlive`; below it `time_limit` of the package `tower`, then `fresh` and your client |
//! | what it means | `classifier`, called by `ending` at the head or at the end of the body |
//! | reported | `report` of the package `registry`; a success leaves a clear word as it is |

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
pub use ending::{AtEndOfBody, AtHead, Ending};
pub use guard::{ClientGuard, Hosts, SomeObserver};
pub use handle::AnyClientGuard;
pub use layer::{ClientBody, ClientLayer, ClientService, Guarded};
