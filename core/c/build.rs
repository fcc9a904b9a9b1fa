// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sets a flag if there are breakers of a file: `ATOMIC_BREAKER_RS` names the code that the command
//! has generated from it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ATOMIC_BREAKER_RS");
    println!("cargo::rustc-check-cfg=cfg(breakers)");
    if std::env::var_os("ATOMIC_BREAKER_RS").is_some() {
        println!("cargo::rustc-cfg=breakers");
    }
}
