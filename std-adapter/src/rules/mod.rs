//! Rules that are set while calls are under way, read without a write.
//!
//! | file | what |
//! |---|---|
//! | `table` | all sets of rules, each kept once; also used by a registry |
//! | `kept` | stores the rules that are set on one breaker |

mod kept;
mod table;

pub use kept::KeptRules;
#[cfg(all(feature = "registry", target_has_atomic = "64"))]
pub(crate) use table::{RuleId, Table, TableFull};
