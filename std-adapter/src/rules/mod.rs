//! Rules that are set while calls are under way, read without a write.
//!
//! | file | what |
//! |---|---|
//! | `table` | all sets of rules, each kept once; also that of a registry |
//! | `kept` | where one breaker keeps those that it is given |

mod kept;
mod table;

pub use kept::KeptRules;
#[cfg(all(feature = "registry", target_has_atomic = "64"))]
pub(crate) use table::{RuleId, Table, TableFull};
