// SPDX-License-Identifier: MIT OR Apache-2.0
//! Time and chance, which the prover replaces.

use atomic_breaker::{Clock, SharedClock};

macro_rules! outside {
    ($($name:ident)*) => {
        $(core::arch::global_asm!(
            concat!(".globl ", stringify!($name)),
            concat!(stringify!($name), ": ret"),
        );)*
        unsafe extern "C" {
            $(pub safe fn $name() -> u32;)*
        }
    };
}

outside! { env_now env_entropy env_random }

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
