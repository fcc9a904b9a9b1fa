// SPDX-License-Identifier: MIT OR Apache-2.0
//! Breakers that the processes of one machine share, for C and for every language that calls C.
//!
//! ```c
//! #include <atomic_breaker_map.h>
//!
//! static const ab_settings rules_of_database = AB_DEFAULTS;
//!
//! ab_map_error error;
//! ab_map *map = ab_map_open("/dev/shm/shop-database", &rules_of_database, NULL, &error);
//! ab_t *database = ab_map_breaker(map, NULL, &error);
//! if (!database)
//!     return fail(error.text); /* names the file, and says what to do; error.status for programs */
//! const ab_rules *rules = ab_map_rules(map);
//!
//! ab_permit permit = ab_acquire(database, rules, ab_now_ms());
//! if (!permit.admitted)
//!     return try_again_in(permit.wait_ms < 1000 ? permit.wait_ms : 1000); /* it may be held open for 49 days, or be released */
//! bool ok = query(connection);
//! ab_report(database, rules, &permit.token, ok, ab_now_ms());
//! ```
//!
//! # What it has
//!
//! | module | what |
//! |---|---|
//! | [`map`] | a file that is open, and its breakers: the functions of `include/atomic_breaker_map.h` |
//! | [`by_rules`] | the functions of `atomic_breaker.h`, which are part of the library |
//! | [`read`] | settings from a file of rules |
//! | [`error`] | why something failed: a code and a text |
//!
//! Here are thin functions around [`atomic_breaker_mapped`] and [`atomic_breaker_c`]: nothing of the file or the word is known
//! here. There are no features.
//!
//! # Where to read on
//!
//! The header explains each function, and the page `docs/hosts.md` of the repository shows how to install and use it.

#![cfg(all(
    any(target_os = "linux", target_os = "android"),
    target_has_atomic = "64"
))]
#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod error;
pub mod map;
pub mod read;

/// The functions of `atomic_breaker.h`: part of the library.
pub use atomic_breaker_c::by_rules;
