// SPDX-License-Identifier: MIT OR Apache-2.0
//! The parts that differ from board to board: the timer, and an interrupt that a program can ask for.

use core::cell::Cell;

use critical_section::Mutex;

static HANDLER: Mutex<Cell<fn()>> = Mutex::new(Cell::new(|| ()));

/// Sets what happens in the interrupt that [`pend`] asks for, and in each of the timer's.
pub fn on_interrupt(handler: fn()) {
    critical_section::with(|section| HANDLER.borrow(section).set(handler));
}

fn interrupted() {
    let handler = critical_section::with(|section| HANDLER.borrow(section).get());
    handler();
}

#[cfg(target_arch = "arm")]
pub use by_systick::{hurry, next_in, pend, reset, start};

#[cfg(target_arch = "arm")]
mod by_systick {
    use cortex_m::peripheral::syst::SystClkSource;
    use cortex_m::peripheral::{SCB, SYST};
    use cortex_m_rt::exception;

    /// The core clock of the emulated board.
    const HZ: u32 = if cfg!(feature = "microbit") {
        16_000_000
    } else if cfg!(feature = "lm3s6965evb") {
        12_500_000
    } else if cfg!(feature = "netduinoplus2") {
        168_000_000
    } else {
        20_000_000
    };

    /// Starts the time. Call it once.
    pub fn start() -> cortex_m::Peripherals {
        let mut core = cortex_m::Peripherals::take().expect("started once");
        core.SYST.set_clock_source(SystClkSource::Core);
        core.SYST.set_reload(HZ / 1_000 - 1);
        core.SYST.clear_current();
        core.SYST.enable_counter();
        core.SYST.enable_interrupt();
        core
    }

    /// From now on a tick comes every `every_ns` nanoseconds: a storm of interrupts instead of a time.
    pub fn hurry(timer: &mut cortex_m::peripheral::SYST, every_ns: u32) {
        timer.set_reload(ticks(every_ns));
        timer.clear_current();
    }

    /// At least one: none would stop the timer.
    fn ticks(ns: u32) -> u32 {
        ((u64::from(HZ) * u64::from(ns) / 1_000_000_000) as u32).max(1)
    }

    /// The next tick comes `ns` nanoseconds from now, even if one was due. A handler calls it at its
    /// end, so that it cannot keep the program from running.
    pub fn next_in(ns: u32) {
        // SAFETY: two stores; the program does not touch the timer once it has started it.
        let timer = unsafe { &*SYST::PTR };
        unsafe {
            timer.rvr.write(ticks(ns));
            timer.cvr.write(0);
        }
        SCB::clear_pendst();
    }

    /// Asks for the interrupt.
    pub fn pend() {
        SCB::set_pendsv();
    }

    /// Resets the whole chip. RAM keeps its content.
    pub fn reset() -> ! {
        SCB::sys_reset()
    }

    #[exception]
    fn SysTick() {
        crate::time::tick();
        super::interrupted();
    }

    #[exception]
    fn PendSV() {
        super::interrupted();
    }
}

#[cfg(target_arch = "riscv32")]
pub use by_mtime::{hurry, next_in, pend, reset, start};

#[cfg(target_arch = "riscv32")]
mod by_mtime {
    use portable_atomic::{AtomicU32, Ordering};
    use riscv::interrupt::Interrupt;
    use riscv::register::{mie, mstatus};

    const MTIME: *mut u64 = 0x0200_BFF8 as *mut u64;
    const MSIP: *mut u32 = 0x0200_0000 as *mut u32;
    const MTIMECMP: *mut u64 = 0x0200_4000 as *mut u64;
    /// Of 10 MHz.
    const TICKS_PER_MS: u32 = 10_000;

    static INTERVAL: AtomicU32 = AtomicU32::new(TICKS_PER_MS);

    /// Starts the time. Call it once.
    pub fn start() {
        // SAFETY: the registers of the emulated board, touched here and in the handler only, which
        // is not on yet.
        unsafe {
            MTIMECMP.write_volatile(MTIME.read_volatile() + u64::from(TICKS_PER_MS));
            mie::set_mtimer();
            mie::set_msoft();
            mstatus::set_mie();
        }
    }

    /// From now on a tick comes every `every_ns` nanoseconds: a storm of interrupts instead of a time.
    pub fn hurry(_timer: &mut (), every_ns: u32) {
        INTERVAL.store(every_ns / 100, Ordering::Relaxed);
    }

    /// The next tick comes `ns` nanoseconds from now, even if one was due. A handler calls it at its
    /// end, so that it cannot keep the program from running.
    pub fn next_in(ns: u32) {
        // SAFETY: as in the handler.
        unsafe { MTIMECMP.write_volatile(MTIME.read_volatile() + u64::from(ns / 100)) };
    }

    /// Asks for the interrupt.
    pub fn pend() {
        // SAFETY: one word, written here and by the handler.
        unsafe { MSIP.write_volatile(1) };
    }

    /// Resets the whole chip. RAM keeps its content.
    pub fn reset() -> ! {
        const TEST_DEVICE: *mut u32 = 0x0010_0000 as *mut u32;
        // SAFETY: the emulated board's register for that.
        unsafe { TEST_DEVICE.write_volatile(0x7777) };
        loop {
            riscv::asm::wfi();
        }
    }

    #[riscv_rt::core_interrupt(Interrupt::MachineTimer)]
    fn machine_timer() {
        let interval = INTERVAL.load(Ordering::Relaxed);
        // SAFETY: only this handler writes it once it is on.
        unsafe { MTIMECMP.write_volatile(MTIMECMP.read_volatile() + u64::from(interval)) };
        crate::time::tick();
        super::interrupted();
    }

    #[riscv_rt::core_interrupt(Interrupt::MachineSoft)]
    fn machine_soft() {
        // SAFETY: as in `pend`.
        unsafe { MSIP.write_volatile(0) };
        super::interrupted();
    }
}
