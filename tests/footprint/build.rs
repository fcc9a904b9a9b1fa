// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes the memory layout of the board, and tells the linker where it is.

use std::path::PathBuf;
use std::{env, fs};

/// Feature, start and size of flash and RAM.
const BOARDS: [(&str, u32, &str, u32, &str); 5] = [
    ("MICROBIT", 0, "256K", 0x2000_0000, "16K"),
    ("LM3S6965EVB", 0, "256K", 0x2000_0000, "64K"),
    ("NETDUINOPLUS2", 0x0800_0000, "1M", 0x2000_0000, "112K"),
    ("MPS2_AN505", 0x1000_0000, "4M", 0x3800_0000, "2M"),
    ("MPS2_AN521", 0x1000_0000, "4M", 0x3800_0000, "2M"),
];

fn main() {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let board = BOARDS
        .into_iter()
        .find(|board| env::var_os(format!("CARGO_FEATURE_{}", board.0)).is_some());
    let memory = match board {
        Some((_, flash, flash_size, ram, ram_size)) => format!(
            "MEMORY {{\n  FLASH : ORIGIN = {flash:#x}, LENGTH = {flash_size}\n  \
             RAM : ORIGIN = {ram:#x}, LENGTH = {ram_size}\n}}\n"
        ),
        // RISC-V: everything in RAM.
        None => "MEMORY { RAM : ORIGIN = 0x80000000, LENGTH = 16M }\n\
                 REGION_ALIAS(\"REGION_TEXT\", RAM);\nREGION_ALIAS(\"REGION_RODATA\", RAM);\n\
                 REGION_ALIAS(\"REGION_DATA\", RAM);\nREGION_ALIAS(\"REGION_BSS\", RAM);\n\
                 REGION_ALIAS(\"REGION_HEAP\", RAM);\nREGION_ALIAS(\"REGION_STACK\", RAM);\n"
            .into(),
    };
    fs::write(out.join("memory.x"), memory).expect("the folder is there");
    println!("cargo:rustc-link-search={}", out.display());
    if board.is_none() {
        // The other run-time crate takes it by itself.
        println!("cargo:rustc-link-arg=-Tmemory.x");
    }
    println!("cargo:rustc-link-arg=-Tlink.x");
}
