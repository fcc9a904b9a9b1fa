// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by the programs in `bin`: a board that starts, keeps time and ends.
//!
//! | program | shows |
//! |---|---|
//! | `cycle` | closed, open, half-open and closed again by real embassy timers, every transition in its millisecond |
//! | `sensor` | an unmodified driver crate on a flaky bus: silent, a NACK storm, a hang, slow recovery |
//! | `radio` | a task that sleeps in `ready()` while the radio is down, against one that polls |
//! | `recovery` | calls that are healthy but longer than the lease close the breaker; traffic returns gradually |
//! | `retained` | the word in RAM survives resets, and is not believed after a loss of power |
//! | `journal` | readings in flash survive resets after random numbers of instructions |
//! | `interrupt` | a permit granted in a task, reported by an interrupt handler; a storm of both at random instants, each step of which is compared with a model |
//! | `futures` | what futures take in RAM, printed |
//! | `superloop` | a loop without embassy and tasks, its clock a timer's interrupt, its breaker a handle of size zero |
//! | `library` | a `no_std` library with a breaker inside and a guarded bus, without embassy, on a counter of 16 bits |
//! | `repair` | a day with a sensor that hangs: readings with and without a repair before a probe |
//! | `gateway` | a day in which each device of a gateway breaks once: a CAN bus, a flash chip, a modem, a server |
//! | `logged` | `defmt` lines of an outage, decoded on the host |
//! | `two_cores` | two cores that really run in parallel share one breaker, with random delays; without embassy |
#![no_std]

mod board;
mod dice;
#[cfg(feature = "microbit")]
pub mod nvmc;
pub mod thermometer;
mod time;

pub use board::{hurry, next_in, on_interrupt, pend, reset, start};
pub use dice::{Dice, number};
pub use semihosting::println;
pub use time::{block_for_ms, in_virtual_time};

/// Ends the program as passed, with a text that says what was checked.
pub fn passed(checked: core::fmt::Arguments<'_>) -> ! {
    println!("passed: {checked}");
    semihosting::process::exit(0)
}

/// [`passed`] with a format string. A failed assertion ends the program by the panic handler, with an
/// exit status that is not 0.
#[macro_export]
macro_rules! pass {
    ($($checked:tt)*) => {
        $crate::passed(format_args!($($checked)*))
    };
}
