// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links as `esp-hal` has it.

fn main() {
    println!("cargo:rustc-link-arg=-Tlinkall.x");
}
