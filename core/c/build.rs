// SPDX-License-Identifier: MIT OR Apache-2.0
//! Whether there are breakers of a file: `ATOMIC_BREAKER_RS` names what the command has made of it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ATOMIC_BREAKER_RS");
    println!("cargo::rustc-check-cfg=cfg(breakers)");
    if std::env::var_os("ATOMIC_BREAKER_RS").is_some() {
        println!("cargo::rustc-cfg=breakers");
    }
}
