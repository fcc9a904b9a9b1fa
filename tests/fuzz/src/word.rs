// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any word of either layout, whoever wrote it.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, Word};
use atomic_breaker::{Breaker, Config, Failure, ManualClock, Outcome, Rejected, Token};

pub(crate) fn any(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first_chunk::<8>() else {
        return;
    };
    let bits = u64::from_le_bytes(*first);
    operate(AtomicU64::new(bits), rest, |bits| bits);
    operate(AtomicU32::new(bits as u32), rest, |bits| bits as u32);
}

/// Operations that the bytes name, on a word that then heals and serves again.
fn operate<W: Word>(word: W, bytes: &[u8], bits: impl Fn(u64) -> W::Bits) {
    let config = Config::new()
        .failures_within(3, Duration::from_secs(5))
        .open_for(Duration::from_secs(2))
        .probes(2);
    let clock = ManualClock::starting_at(u32::MAX - 5_000);
    let breaker = Breaker::over(word, config, &clock);
    let is_valid = breaker.to_bits().check().is_ok();
    assert_eq!(breaker.check().is_ok(), is_valid);
    for chunk in bytes.chunks(9).take(64) {
        let value = chunk[1..]
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        match chunk[0] % 12 {
            0 => drop(breaker.acquire()),
            1 => {
                let _ = breaker
                    .acquire()
                    .map(|permit| permit.report(Outcome::Success));
            }
            2 => {
                let _ = breaker
                    .acquire()
                    .map(|permit| permit.report(Failure::new()));
            }
            // A permit that nobody granted.
            3 => {
                let token = Token::from_raw(bits(value), value as u32);
                breaker.resume(token).report(Outcome::Success);
            }
            4 => {
                let token = Token::from_raw(bits(value), 0);
                breaker.resume(token).report(Failure::tripping());
            }
            5 => clock.advance(Duration::from_millis(value % 100_000)),
            6 => drop(breaker.trip()),
            7 => drop(breaker.probe_now()),
            8 => drop(breaker.restore()),
            9 => drop(breaker.release()),
            10 => drop(breaker.enable()),
            _ => drop(breaker.snapshot()),
        }
        let _ = breaker.snapshot();
    }
    heals(&breaker, &clock);
}

/// A word that nobody holds serves again, if it is asked when it says.
fn heals<W: Word>(breaker: &Breaker<&ManualClock, W>, clock: &ManualClock) {
    breaker.release();
    breaker.enable();
    breaker.release();
    for _ in 0..10_000 {
        match breaker
            .acquire()
            .map(|permit| permit.report(Outcome::Success))
        {
            Ok(_) => return,
            Err(rejected) => clock.advance(wait(rejected)),
        }
    }
    panic!("shut for good: {:?}", breaker.to_bits());
}

fn wait(rejected: Rejected) -> Duration {
    let ms = rejected.retry_in_ms().expect("it was released").max(1);
    Duration::from_millis(ms.into())
}
