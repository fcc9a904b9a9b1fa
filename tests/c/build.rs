// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles `through.c` for words of 32 and of 64 bits.

fn main() {
    for bits in ["32", "64"] {
        cc::Build::new()
            .file("through.c")
            .include("../../core/c/include")
            .define("AB_WORD_BITS", bits)
            .define("PREFIX", format!("c{bits}_").as_str())
            .std("c99")
            .flag("-Wall")
            .flag("-Wextra")
            .flag("-Werror")
            .flag("-pedantic")
            .compile(&format!("through{bits}"));
    }
    println!("cargo::rerun-if-changed=through.c");
    println!("cargo::rerun-if-changed=../../core/c/include/atomic_breaker.h");
}
