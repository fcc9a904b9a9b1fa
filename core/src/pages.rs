// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pages about the whole family of packages. Links to files lead to the repository.

// Of two definitions of a link the first one holds, so that these replace the relative ones at the end of each page.
macro_rules! file {
    ($path:literal) => {
        file!($path, "/blob/main/")
    };
    ($path:literal, $view:literal) => {
        concat!(
            "[",
            $path,
            "]: ",
            env!("CARGO_PKG_REPOSITORY"),
            $view,
            $path
        )
    };
}

#[doc = file!("docs/coming-from.md")]
#[doc = file!("docs/http.md")]
#[doc = file!("docs/limits.md")]
#[doc = file!("std-adapter/around/docs/mapped.md")]
#[doc = file!("docs/microcontrollers.md")]
#[doc = file!("std-adapter/around/docs/observability.md")]
#[doc = file!("docs/recipes.md")]
#[doc = file!("docs/registry.md")]
#[doc = file!("docs/tower.md")]
#[doc = file!("std-adapter/around/examples/production/src/tests.rs")]
#[doc = file!("std-adapter/around/tune/README.md")]
#[doc = ""]
#[doc = include_str!("../guide.md")]
pub mod guide {}

#[doc = file!("benches/locked")]
#[doc = file!("benches/results/README.md")]
#[doc = file!("benches/results/contention.md")]
#[doc = file!("benches/results/counts.md")]
#[doc = file!("benches/results/layers.md")]
#[doc = file!("benches/results/mapped.md")]
#[doc = file!("benches/results/memory.md")]
#[doc = file!("benches/results/peers.md")]
#[doc = file!("benches/src/lib.rs")]
#[doc = file!("docs/contention.svg", "/raw/main/")]
#[doc = file!("docs/microcontrollers.md")]
#[doc = file!("docs/peers.svg", "/raw/main/")]
#[doc = ""]
#[doc = include_str!("../performance.md")]
pub mod performance {}
