// SPDX-License-Identifier: MIT OR Apache-2.0
//! A counter of instructions: a timer that runs on the emulator's time.

/// Instructions in a tick, in 2³²ths: with `-icount shift=10` the emulator gives each instruction 2¹⁰ ns.
const PER_TICK: u64 = (1_000_000_000 << 22) / HZ;

/// The number of instructions in this many ticks, rounded: a reading falls anywhere into a tick.
pub(crate) fn instructions(ticks: u64) -> u64 {
    (ticks * PER_TICK + (1 << 31)) >> 32
}

#[cfg(target_arch = "arm")]
pub(crate) use by_systick::{Counter, HZ};

#[cfg(target_arch = "arm")]
mod by_systick {
    use cortex_m::Peripherals;
    use cortex_m::peripheral::SYST;
    use cortex_m::peripheral::syst::SystClkSource;

    /// The core clock of the emulated board.
    pub(crate) const HZ: u64 = if cfg!(feature = "microbit") {
        16_000_000
    } else if cfg!(feature = "lm3s6965evb") {
        12_500_000
    } else if cfg!(feature = "netduinoplus2") {
        168_000_000
    } else {
        20_000_000
    };

    const MAX: u32 = 0x00FF_FFFF;

    pub(crate) struct Counter(SYST);

    impl Counter {
        pub(crate) fn start() -> Self {
            let mut timer = Peripherals::take().expect("taken once").SYST;
            timer.set_clock_source(SystClkSource::Core);
            timer.set_reload(MAX);
            timer.clear_current();
            timer.enable_counter();
            Self(timer)
        }

        // One function for all counts, so that nothing but the call is between the readings.
        #[inline(never)]
        pub(crate) fn ticks(&mut self, operation: fn()) -> u64 {
            // Counts down. Set back only where it could wrap meanwhile, as that takes the emulator long.
            if SYST::get_current() < MAX / 2 {
                self.0.clear_current();
            }
            let begin = SYST::get_current();
            operation();
            u64::from(begin.wrapping_sub(SYST::get_current()) & MAX)
        }
    }
}

#[cfg(target_arch = "riscv32")]
pub(crate) use by_csr::{Counter, HZ};

#[cfg(target_arch = "riscv32")]
mod by_csr {
    use riscv::register::minstret;

    /// With `-icount` the emulator counts nanoseconds where a processor counts instructions.
    pub(crate) const HZ: u64 = 1_000_000_000;

    pub(crate) struct Counter;

    impl Counter {
        pub(crate) fn start() -> Self {
            Self
        }

        // One function for all counts, so that nothing but the call is between the readings.
        #[inline(never)]
        pub(crate) fn ticks(&mut self, operation: fn()) -> u64 {
            let begin = minstret::read() as u32;
            operation();
            u64::from((minstret::read() as u32).wrapping_sub(begin))
        }
    }
}
