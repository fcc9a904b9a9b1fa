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

#[doc = file!("core/src/clock.rs")]
#[doc = file!("core/src/config/rules.rs")]
#[doc = file!("core/src/permit.rs")]
#[doc = file!("docs/admin.md")]
#[doc = file!("docs/coming-from.md")]
#[doc = file!("docs/limits.md")]
#[doc = file!("docs/microcontrollers.md")]
#[doc = file!("docs/observability.md")]
#[doc = file!("embassy-adapter/examples/rp2040/src/main.rs")]
#[doc = file!("std-adapter/examples/production/src/tests.rs")]
#[doc = file!("std-adapter/http/examples/client/main.rs")]
#[doc = file!("std-adapter/http/examples/reqwest/page.rs")]
#[doc = file!("std-adapter/http/examples/service/main.rs")]
#[doc = file!("std-adapter/http/examples/tonic/src/main.rs")]
#[doc = file!("std-adapter/mapped/examples/prefork/server.rs")]
#[doc = file!("std-adapter/server/src/registry/whole.rs")]
#[doc = file!("std-adapter/tune/README.md")]
#[doc = file!("tests/examples/library.rs")]
#[doc = ""]
#[doc = include_str!("../guide.md")]
pub mod guide {}

#[doc = file!("benches/locked")]
#[doc = file!("benches/src/lib.rs")]
#[doc = file!("docs/contention.svg", "/raw/main/")]
#[doc = file!("docs/microcontrollers.md")]
#[doc = file!("docs/peers.svg", "/raw/main/")]
#[doc = ""]
#[doc = include_str!("../performance.md")]
pub mod performance {}
