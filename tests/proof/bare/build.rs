// SPDX-License-Identifier: MIT OR Apache-2.0
//! Keeps the functions, which nothing calls.

fn main() {
    println!("cargo::rustc-link-arg-bins=--no-gc-sections");
    println!("cargo::rustc-link-arg-bins=--entry=p_acquire");
    println!("cargo::rerun-if-changed=build.rs");
}
