// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts that a program without an operating system needs beside the functions. Built by `tests/proof/bare`.

use core::panic::PanicInfo;

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {}
}

// A critical section of two empty functions: the prover takes for one step what lies between them.
#[cfg(feature = "critical-section")]
core::arch::global_asm!(
    ".globl _critical_section_1_0_acquire, _critical_section_1_0_release",
    ".type _critical_section_1_0_acquire, %function",
    ".type _critical_section_1_0_release, %function",
    ".thumb_func",
    "_critical_section_1_0_acquire: bx lr",
    ".thumb_func",
    "_critical_section_1_0_release: bx lr",
);
