// SPDX-License-Identifier: MIT OR Apache-2.0
//! Any word of either layout, from any writer, beside what another reading of the layout says that it means.

use std::time::Duration;

use atomic_breaker::word::{AtomicU32, AtomicU64, Bits, Word};
use atomic_breaker::{
    Breaker, Clock, Config, Failure, ManualClock, Outcome, Rejected, State, Token,
};

use crate::form::{Form, Narrow, Wide};
use crate::spec::meaning;

const OPEN_MS: u32 = 2_625;
const CONFIG: Config = Config::new()
    .failures_within(3, Duration::from_secs(5))
    // Which no word holds exactly, so that the time that it stores is earlier.
    .open_for(Duration::from_millis(OPEN_MS as u64))
    .probes(2);

pub(crate) fn any(bytes: &[u8]) {
    let Some((first, rest)) = bytes.split_first_chunk::<8>() else {
        return;
    };
    let bits = u64::from_le_bytes(*first);
    operate::<Wide, _>(AtomicU64::new, bits, rest);
    operate::<Narrow, _>(|bits| AtomicU32::new(bits as u32), bits, rest);
}

/// Operations that the bytes name, on a word that then heals and serves again.
fn operate<F: Form, W: Word>(word: impl Fn(u64) -> W, first: u64, bytes: &[u8]) {
    let bits = <W::Bits as Bits>::from_u64;
    let clock = ManualClock::starting_at(u32::MAX - 5_000);
    let breaker = Breaker::over(word(first), CONFIG, &clock);
    let tick = 1 << (<W::Bits as Bits>::LAYOUT.max_ms().ilog2() + 1 - F::TIME);
    let held = || breaker.to_bits().to_u64();
    means::<F, _, _>(&breaker);
    for chunk in bytes.chunks(9).take(64) {
        let value = chunk[1..]
            .iter()
            .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
        let before = held();
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
            6 if breaker.trip().is_some() => {
                let wait = breaker.acquire().map_err(Rejected::retry_in_ms);
                let late = wait.expect_err("just opened").expect("a time") - OPEN_MS;
                // The time and the reading are rounded, each to a tick.
                assert!(late <= 2 * tick, "{late} ms late");
            }
            6 => {}
            7 => drop(breaker.probe_now()),
            8 => drop(breaker.restore()),
            9 => drop(breaker.release()),
            10 => drop(breaker.enable()),
            _ => drop(breaker.snapshot()),
        }
        means::<F, _, _>(&breaker);
        let is_changed = held() != before;
        let was_wrong = meaning::<F>(before).is_none();
        assert!(
            !is_changed || breaker.check().is_ok(),
            "{before:x} became {:x}",
            held()
        );
        // Permits that were granted before a word was healed hold no more.
        let epochs = (held() >> F::EPOCH_AT).wrapping_sub(before >> F::EPOCH_AT) % F::EPOCHS;
        assert!(
            !was_wrong || !is_changed || epochs > 0,
            "{before:x} became {:x}",
            held()
        );
        opens_in_time::<F, _>(word(held()), clock.now_ms());
    }
    heals(&breaker, &clock);
}

/// A breaker shows what its word says; one that no breaker writes shows a closed one in the next epoch.
fn means<F: Form, C: Clock, W: Word>(breaker: &Breaker<C, W>) {
    let bits = breaker.to_bits().to_u64();
    let (said, shown) = (meaning::<F>(bits), breaker.snapshot());
    assert_eq!(breaker.check().is_ok(), said.is_some(), "{bits:x}");
    let state = said.map_or(State::Closed, |it| it.state);
    assert_eq!(shown.entered(), state, "{bits:x}");
    let later = (bits >> F::EPOCH_AT) + u64::from(said.is_none());
    assert_eq!(u64::from(shown.epoch()), later % F::EPOCHS, "{bits:x}");
}

/// An open one admits a probe when its time is over, and says when until then.
fn opens_in_time<F: Form, W: Word>(word: W, now_ms: u32) {
    let breaker = Breaker::over(word, CONFIG, ManualClock::starting_at(now_ms));
    let bits = breaker.to_bits().to_u64();
    let Some(open) = meaning::<F>(bits).filter(|it| it.state == State::Open) else {
        return;
    };
    let tick = 1 << (<W::Bits as Bits>::LAYOUT.max_ms().ilog2() + 1 - F::TIME);
    let left = open.open_for.cast_signed() - open.age::<F>(now_ms / tick);
    let left_ms = left * i64::from(tick) - i64::from(now_ms % tick);
    let admitted = breaker.acquire().map(|permit| permit.is_probe());
    let said = admitted.map_err(|rejected| rejected.retry_in_ms().map(i64::from));
    let expected = if left > 0 {
        Err(Some(left_ms))
    } else {
        Ok(true)
    };
    assert_eq!(said, expected, "{bits:x} at {now_ms}");
}

/// A word that no operator holds serves again, if it is asked at the time that it states.
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
