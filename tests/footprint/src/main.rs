// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts the instructions of each operation on an emulated board, exactly.
//!
//! With `-icount` the emulator gives every instruction the same time, so a timer that runs on that time
//! counts instructions. The count of one call of a function that does nothing is subtracted from that of a
//! function that does the operation.
#![no_std]
#![no_main]

mod counter;
mod operations;

use semihosting::{println, process};

fn main() -> ! {
    let mut counter = counter::Counter::start();
    // The very first count catches the timer starting.
    counter.ticks(operations::nothing);
    let nothing = counter.ticks(operations::nothing);
    for (name, prepare, operation) in operations::ALL {
        prepare();
        let ticks = counter.ticks(operation) - nothing;
        println!("{:6}  {name}", counter::instructions(ticks));
    }
    process::exit(0)
}

#[cfg(target_arch = "arm")]
#[cortex_m_rt::entry]
fn entry() -> ! {
    main()
}

#[cfg(target_arch = "riscv32")]
#[riscv_rt::entry]
fn entry() -> ! {
    main()
}
