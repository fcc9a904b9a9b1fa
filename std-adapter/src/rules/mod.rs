//! Rules that are set while calls are under way, read without a write.
//!
//! | file | what |
//! |---|---|
//! | `table` | all sets of rules, each kept once; also used by a registry |
//! | `kept` | stores the rules that are set on one breaker |

mod kept;
mod table;

pub use kept::KeptRules;
pub use table::{RuleId, Table, TableFull};
