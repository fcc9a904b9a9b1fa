//! A resource that is back, and cannot bear the whole load yet.

use std::collections::HashMap;
use std::time::Duration;

use crate::call::{Call, Ending, Met};

/// A server that was restarted, with empty caches: at first it bears a share of the usual load, and the more of it the longer
/// it is back. Calls beyond that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct ColdServer {
    first_percent: u8,
    over: Duration,
}

impl ColdServer {
    /// It bears `first_percent` of the usual load at first, from 1 to 100, and all of it after `over`.
    ///
    /// # Panics
    /// If the share is 0 or more than 100 percent.
    pub const fn new(first_percent: u8, over: Duration) -> Self {
        assert!(
            1 <= first_percent && first_percent <= 100,
            "a share is between 1 and 100 percent"
        );
        Self {
            first_percent,
            over,
        }
    }
}

/// The load is looked at in tenths of a second.
const TENTH_US: u64 = 100_000;

/// A cold server while it becomes warm.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Warming {
    server: ColdServer,
    back_us: u64,
    /// Calls in a tenth of a second, when all is well.
    usual: f64,
    tenth: u64,
    made: f64,
}

impl Warming {
    /// Since when it is back, and how many calls it usually gets in a second.
    pub(crate) fn new(server: ColdServer, back_us: u64, per_second: f64) -> Self {
        Self {
            server,
            back_us,
            usual: per_second / 10.0,
            tenth: 0,
            made: 0.0,
        }
    }

    /// Whether it bears one more call.
    pub(crate) fn bears(&mut self, at_us: u64) -> bool {
        let Some(since) = at_us.checked_sub(self.back_us) else {
            return true;
        };
        let since = Duration::from_micros(since);
        if since >= self.server.over {
            return true;
        }
        let tenth = at_us / TENTH_US;
        if tenth != self.tenth {
            (self.tenth, self.made) = (tenth, 0.0);
        }
        self.made += 1.0;
        let first = f64::from(self.server.first_percent) / 100.0;
        let warm = since.as_secs_f64() / self.server.over.as_secs_f64();
        // One call at a time is always borne, or nothing would ever find out.
        self.made <= (self.usual * (first + (1.0 - first) * warm)).max(1.0)
    }
}

/// When the resource of a key is back after an incident.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Recovery {
    pub(crate) key: u32,
    pub(crate) at_us: u64,
    /// How many calls the key usually gets in a second.
    pub(crate) per_second: f64,
}

/// The servers of a log, each cold after each of its incidents.
#[derive(Debug, Default)]
pub(crate) struct ColdServers {
    /// By key, the last recovery first.
    to_come: HashMap<u32, Vec<Warming>>,
}

impl ColdServers {
    /// Recoveries in the order of time.
    pub(crate) fn new(server: ColdServer, recoveries: &[Recovery]) -> Self {
        let mut servers = Self::default();
        for it in recoveries.iter().rev() {
            let warming = Warming::new(server, it.at_us, it.per_second);
            servers.to_come.entry(it.key).or_default().push(warming);
        }
        servers
    }

    /// What a call meets: at moments that never go back.
    #[inline]
    pub(crate) fn made(&mut self, call: &Call) -> Ending {
        let ending = call.ending();
        if self.bear(call.key, call.start_us) {
            return ending;
        }
        Ending {
            met: Met::Failure,
            ..ending
        }
    }

    /// Whether the server of a key bears one more call.
    fn bear(&mut self, key: u32, at_us: u64) -> bool {
        if self.to_come.is_empty() {
            return true;
        }
        let Some(to_come) = self.to_come.get_mut(&key) else {
            return true;
        };
        // The next one ends what is left of the one before.
        while let [.., next, _] = to_come[..] {
            if at_us < next.back_us {
                break;
            }
            to_come.pop();
        }
        to_come.last_mut().is_none_or(|it| it.bears(at_us))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_bears_more_the_longer_it_is_back() {
        let server = ColdServer::new(10, Duration::from_secs(10));
        // 1,000 calls a second, of which it is sent all.
        let borne = |at_us: u64| {
            let mut warming = Warming::new(server, 5_000_000, 1_000.0);
            (0..100).filter(|_| warming.bears(at_us)).count()
        };
        let times = [4_900_000, 5_000_000, 10_000_000, 14_000_000, 15_000_000];
        assert_eq!(times.map(borne), [100, 10, 55, 91, 100]);
    }
}
