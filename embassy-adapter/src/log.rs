//! Lines for the debug probe.

use atomic_breaker::{Observer, Rejected, Transition};

/// An observer that writes a `defmt` line per transition, and one per refusal at level `debug`.
///
/// ```
/// use atomic_breaker_embassy::{Breaker, Config, DefmtLog, EmbassyClock, word::NativeWord};
///
/// static RADIO: Breaker<NativeWord, (), DefmtLog> = Breaker::from_parts(
///     NativeWord::new(0),
///     Config::new(),
///     EmbassyClock,
///     (),
///     DefmtLog::new("radio"),
/// );
/// # let _ = &RADIO;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct DefmtLog {
    name: &'static str,
}

impl DefmtLog {
    /// Lines that begin with the name.
    pub const fn new(name: &'static str) -> Self {
        Self { name }
    }
}

impl Observer for DefmtLog {
    fn transition(&self, transition: &Transition) {
        defmt::info!(
            "{=str}: {} -> {} at {=u32} ms, {}",
            self.name,
            transition.from,
            transition.to,
            transition.at_ms,
            transition.cause
        );
    }

    fn refused(&self, rejected: Rejected) {
        defmt::debug!("{=str}: refused, {}", self.name, rejected);
    }
}

impl crate::Changes for DefmtLog {
    type Listener<'a> = crate::Deaf;

    fn listen(&self) -> crate::Deaf {
        crate::Deaf
    }
}
