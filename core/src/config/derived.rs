//! What follows from the settings.

use super::{Config, TripRule};

const DEFAULT_RETRY_AFTER_MS: u32 = 5 * 60 * 1_000;
const DEFAULT_LEASE_MS: u32 = 30_000;

impl Config {
    /// Whether it asks for memory beside the word.
    #[inline]
    pub(crate) const fn needs_tally(&self) -> bool {
        self.ratio.is_some() || matches!(self.trip, TripRule::TallyOnly)
    }

    pub(crate) const fn needed_successes(&self) -> u32 {
        match self.close_after {
            Some(successes) => successes as u32,
            None => self.probes as u32,
        }
    }

    /// The longest minimum open time that a failure may ask for, for a word that holds `longest_ms`.
    pub(crate) const fn longest_retry_after(&self, longest_ms: u32) -> u32 {
        match self.max_retry_after_ms {
            Some(ms) => ms,
            None if longest_ms < DEFAULT_RETRY_AFTER_MS => longest_ms,
            None => DEFAULT_RETRY_AFTER_MS,
        }
    }

    /// The lease of a probe, for a word that holds `longest_ms`.
    pub(crate) const fn lease(&self, longest_ms: u32) -> u32 {
        match self.probe_lease_ms {
            Some(ms) => ms,
            None if longest_ms < DEFAULT_LEASE_MS => longest_ms,
            None => DEFAULT_LEASE_MS,
        }
    }
}
