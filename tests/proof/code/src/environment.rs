// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time and chance, which the prover replaces. Run as it is on this machine, the program takes the numbers that a replay
//! has put into a queue.

use core::arch::global_asm;

use atomic_breaker::{Clock, SharedClock};

/// The queue: a number, and the function that asked for it, which it notes itself.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
pub static mut ENV_NUMBERS: [[u32; 2]; 64] = [[0; 2]; 64];

/// The count of numbers asked for.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
pub static mut ENV_NEXT: u64 = 0;

#[cfg(target_arch = "x86_64")]
global_asm!(
    ".macro outside name, kind",
    ".p2align 4",
    r".globl \name",
    r"\name:",
    "mov rcx, [rip + ENV_NEXT@GOTPCREL]",
    "mov rdx, [rcx]",
    "inc qword ptr [rcx]",
    "and edx, 63",
    "mov rcx, [rip + ENV_NUMBERS@GOTPCREL]",
    r"mov dword ptr [rcx + 8 * rdx + 4], \kind",
    "mov eax, [rcx + 8 * rdx]",
    "ret",
    ".endm",
    "outside env_now, 1",
    "outside env_random, 2",
    "outside env_entropy, 3",
);

#[cfg(target_arch = "arm")]
global_asm!(
    ".macro outside name",
    r".globl \name",
    r".type \name, %function",
    ".thumb_func",
    r"\name: bx lr",
    ".endm",
    "outside env_now",
    "outside env_random",
    "outside env_entropy",
);

#[cfg(target_arch = "riscv32")]
global_asm!(
    ".globl env_now, env_random, env_entropy",
    "env_now: ret",
    "env_random: ret",
    "env_entropy: ret",
);

unsafe extern "C" {
    safe fn env_now() -> u32;
    safe fn env_random() -> u32;
    safe fn env_entropy() -> u32;
}

pub struct World;

impl Clock for World {
    #[inline(always)]
    fn now_ms(&self) -> u32 {
        env_now()
    }
    #[inline(always)]
    fn entropy(&self) -> u32 {
        env_entropy()
    }
    #[inline(always)]
    fn random(&self) -> u32 {
        env_random()
    }
}

impl SharedClock for World {}
