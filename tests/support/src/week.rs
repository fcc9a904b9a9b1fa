// SPDX-License-Identifier: MIT OR Apache-2.0
//! A host that is down for an hour each day, and the results of a week's requests.

use std::future::pending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use atomic_breaker::{Clock, Config, ManualClock};
use tokio::time::{Instant, sleep_until};

/// The number of times that the host is down.
pub const OUTAGES: u32 = 7;

const WEEK_S: u64 = OUTAGES as u64 * PERIOD_S;
const PERIOD_S: u64 = 24 * 3_600;
const DOWN_S: std::ops::Range<u64> = 5 * 3_600..6 * 3_600;

/// The rules of the programs: with a constant open time, an hour costs 720 probes.
pub const fn config() -> Config {
    Config::new().exponential(2, Duration::from_secs(60))
}

/// A host that responds or fails. Clones are the same host.
#[derive(Clone, Debug, Default)]
pub struct Host {
    is_down: Arc<AtomicBool>,
    hangs: bool,
    reached: Arc<AtomicU32>,
}

impl Host {
    /// While it is down it does not respond at all, instead of failing.
    pub fn hanging() -> Self {
        Self {
            hangs: true,
            ..Self::default()
        }
    }

    pub async fn answer(&self) -> io::Result<u32> {
        let answer = self.answer_at_once();
        if self.hangs && answer.is_err() {
            return pending().await;
        }
        answer
    }

    pub fn answer_at_once(&self) -> io::Result<u32> {
        self.reached.fetch_add(1, Relaxed);
        if self.is_down.load(Relaxed) {
            return Err(io::Error::other("no answer"));
        }
        Ok(7)
    }

    /// The calls that reached it since the last request was made.
    pub fn reached(&self) -> u32 {
        self.reached.load(Relaxed)
    }
}

/// The results of the requests, with those of the worst outage.
#[derive(Debug, Default)]
pub struct Week {
    /// Calls that reached the host while it was down.
    wasted: u32,
    /// Seconds from its return until a request succeeded.
    back_after_s: u64,
    /// Outages after which a request succeeded.
    back: u32,
    /// Requests that failed two minutes after its return or later.
    failed_in_health: u32,
}

/// At most `wasted` of the 3,600 requests of an outage reach the host, and requests succeed within a minute of its
/// return.
pub fn protects(week: &Week, wasted: u32) {
    assert_eq!((week.back, week.failed_in_health), (OUTAGES, 0), "{week:?}");
    assert!(week.wasted <= wasted && week.wasted >= 3, "{week:?}");
    assert!(week.back_after_s <= 61, "{week:?}");
}

/// The times at which requests are made: every second around an outage, every minute otherwise.
fn seconds() -> impl Iterator<Item = u64> {
    (0..WEEK_S).filter(|second| {
        let phase = second % PERIOD_S;
        (DOWN_S.start - 60..DOWN_S.end + 600).contains(&phase) || second % 60 == 0
    })
}

/// Is notified before and after each request.
struct Judge<'a> {
    host: &'a Host,
    week: Week,
    wasted: u32,
    is_back: bool,
}

impl<'a> Judge<'a> {
    fn new(host: &'a Host) -> Self {
        Self {
            host,
            week: Week::default(),
            wasted: 0,
            is_back: true,
        }
    }

    fn before(&mut self, second: u64) {
        let is_down = DOWN_S.contains(&(second % PERIOD_S));
        self.host.is_down.store(is_down, Relaxed);
        self.host.reached.store(0, Relaxed);
        if is_down && self.is_back {
            (self.wasted, self.is_back) = (0, false);
        }
    }

    fn after(&mut self, second: u64, succeeded: bool) {
        let (week, phase) = (&mut self.week, second % PERIOD_S);
        if DOWN_S.contains(&phase) {
            self.wasted += self.host.reached();
            week.wasted = week.wasted.max(self.wasted);
        } else if succeeded && !self.is_back {
            self.is_back = true;
            week.back += 1;
            week.back_after_s = week.back_after_s.max(phase - DOWN_S.end);
        } else if !succeeded && !(DOWN_S.start..=DOWN_S.end + 120).contains(&phase) {
            week.failed_in_health += 1;
        }
    }
}

/// A week of paused time. `ask` makes a request, and returns whether it succeeded.
pub async fn week<F: Future<Output = bool>>(host: &Host, mut ask: impl FnMut() -> F) -> Week {
    let begin = Instant::now();
    let mut judge = Judge::new(host);
    for due in seconds() {
        sleep_until(begin + Duration::from_secs(due)).await;
        // The request is late if the previous one took long.
        let second = begin.elapsed().as_secs();
        judge.before(second);
        judge.after(second, ask().await);
    }
    judge.week
}

/// A week on a clock that the test advances; requests may advance it, too.
pub fn week_by_hand(host: &Host, clock: &ManualClock, mut ask: impl FnMut() -> bool) -> Week {
    let begin = clock.now_ms();
    let mut judge = Judge::new(host);
    for due in seconds() {
        let passed = clock.now_ms().wrapping_sub(begin).into();
        clock.advance(Duration::from_secs(due).saturating_sub(Duration::from_millis(passed)));
        let second = u64::from(clock.now_ms().wrapping_sub(begin)) / 1_000;
        judge.before(second);
        judge.after(second, ask());
    }
    judge.week
}
