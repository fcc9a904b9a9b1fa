// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures named in messages and documentation. A layout with other figures does not compile: change the
//! texts first, then this file.

use crate::tally::LastCalls;
use crate::word::{AtomicU32, Layout, open_time};

const _: () = {
    const WIDE: Layout = Layout::WIDE;
    const NARROW: Layout = Layout::NARROW;

    // "at most 65 535 (255 in a 32-bit word)"
    assert!(WIDE.max_failures() == 65_535 && NARROW.max_failures() == 255);
    // "at most 32 767 (127 in a 32-bit word)"
    assert!(WIDE.max_lasting_failures() == 32_767 && NARROW.max_lasting_failures() == 127);
    // "at most 255 (15 in a 32-bit word)"
    assert!(WIDE.max_probes() == 255 && NARROW.max_probes() == 15);
    // "the 31st (7th) trip in a row"
    assert!(WIDE.trips.max() == 31 && NARROW.trips.max() == 7);
    // "a lease doubles at most four times"
    assert!(WIDE.max_lost == 4 && NARROW.max_lost == 4);
    // "2^31 ms (2^14 ticks in a 32-bit word)", "24.8 days (17.5 minutes)"
    assert!(WIDE.max_ms() == 1 << 31 && NARROW.max_ms() == 64 << 14);
    // "wrap after 49.7 days (35 minutes)"
    assert!(WIDE.time.max() == u32::MAX && NARROW.time.max() == (1 << 15) - 1);
    // "epochs wrap after 512 (16) transitions"
    assert!(WIDE.epoch.max() + 1 == 512 && NARROW.epoch.max() + 1 == 16);
    // "the guard band (65.5 s; 4.1 s)"
    assert!(WIDE.guard == 65_536 && NARROW.guard * 64 == 4_096);
    // "ticks of 1 ms", "ticks of 64 ms"
    assert!(WIDE.tick_log2 == 0 && NARROW.tick_log2 == 6);
    // "rounded up by up to 12.5 %", "0.1 %"
    assert!(WIDE.precision == 11 && NARROW.precision == 4);
    assert!(open_time::encode(NARROW.precision, 17).1 == 18);
    // "the last 59 (27) calls"
    assert!(LastCalls::<AtomicU32>::MAX_CALLS == 27);
};

#[cfg(target_has_atomic = "64")]
const _: () = assert!(LastCalls::<crate::word::AtomicU64>::MAX_CALLS == 59);
