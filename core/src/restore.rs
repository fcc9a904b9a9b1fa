// SPDX-License-Identifier: MIT OR Apache-2.0
//! Taking up a word that outlived its users.

use core::time::Duration;

use crate::breaker::Breaker;
use crate::circuit::Circuit;
use crate::clock::{Clock, Now, SharedClock};
use crate::config::AsRules;
use crate::error::CorruptWord;
use crate::machine::{Machine, Step};
use crate::number::whole_ms;
use crate::observer::{Observer, Transition};
use crate::tally::Tally;
use crate::word::{Bits, Word};

/// Words that outlive their users, in memory that survives a reset or a restart.
impl<C: Clock, W: Word, T: Tally, O: Observer, R: AsRules<W::Bits>> Breaker<C, W, T, O, R> {
    /// Takes up a word that outlived its clock and its users, if it is not known for how long. Call it once after a reset
    /// of the chip or a restart of the process, before any other call. Returns the transition that this caused, if any.
    ///
    /// - **An open time**, even one that was demanded, is halved, and starts over now. So a device that is reset again and
    ///   again probes after a few boots, however short they are: the open time divided by 2ᵏ is all that is left after the
    ///   k-th `restore`. For 5 s that means that a call 100 ms after `restore` is admitted in boot 6, and one right after
    ///   it in boot 13 (boot 7 in a 32-bit word with its default tick, whose last half is shorter than a tick). It takes
    ///   no more than 32 (15) boots for any open time.
    /// - **Probes** that were in flight are forgotten, and those that succeeded still count.
    /// - **A return** is over: the breaker is closed, and its trips are forgotten.
    /// - **A window of failures** starts over.
    /// - Failures in a row are kept, and have [lasted](crate::Config::lasting). So is what an operator has set.
    ///
    /// If the time is known, [`restore_after`](Self::restore_after) counts it; if the clock ran on, such as a real-time
    /// clock, [`restore_running`](Self::restore_running) keeps all times exactly.
    ///
    /// A call that hung until a watchdog reset the device never reported. So if the watchdog caused the reset, and the
    /// breaker is not open, [`trip`](Self::trip) it after this. (While it was open, no call was in flight, and tripping it
    /// in each boot would start its open time over in each boot.)
    ///
    /// # Errors
    /// [`CorruptWord`]: the word held an invalid state, or its memory lost its content
    /// ([`Word::has_mark`]). It is closed and fresh now; nothing more needs to be done.
    pub fn restore(&self) -> Result<Option<Transition>, CorruptWord> {
        let machine = self.machine();
        self.take_up(|circuit, now| machine.restore(circuit, None, now))
    }

    /// [`restore`](Self::restore) after at least this time: a device knows how long its timer let it sleep, or a real-time
    /// clock tells it. Rounded down to milliseconds and to ticks. Pass only the time asleep: how long the device was awake
    /// after the breaker opened is not known. Zero says no more than `restore` knows, and does the same.
    ///
    /// The time counts for an open time, even one that was demanded, and for a window of failures; the rest is as in
    /// `restore`. An open time that the rules alone have set, without jitter, is over if the device slept longer. Any other
    /// is later by less than one part in 1,024 of it (one part in 8 in a 32-bit word), and so is what each further sleep
    /// leaves of it, because the word keeps it rounded up. A sleep that is shorter than that part, or than a tick, counts
    /// as that much: so a device that is reset before its open time is over probes after a limited number of boots.
    ///
    /// ```
    /// use atomic_breaker::{Breaker, Config, ManualClock, word::Retained};
    /// use core::time::Duration;
    ///
    /// static WORD: Retained = Retained::new();
    /// let boot = || Breaker::over(&WORD, Config::new(), ManualClock::new());
    ///
    /// let radio = boot();
    /// assert!(radio.restore().is_err(), "the first start");
    /// radio.trip();
    /// // Asleep for a minute, longer than the open time.
    /// let radio = boot();
    /// radio.restore_after(Duration::from_secs(60)).unwrap();
    /// assert!(radio.acquire().unwrap().is_probe());
    /// ```
    ///
    /// # Errors
    /// Same as [`restore`](Self::restore).
    pub fn restore_after(&self, asleep: Duration) -> Result<Option<Transition>, CorruptWord> {
        let asleep_ms = whole_ms(asleep);
        let machine = self.machine();
        self.take_up(|circuit, now| machine.restore(circuit, Some(asleep_ms), now))
    }

    /// [`restore`](Self::restore) of a word that outlived its users, but not its clock: a real-time clock that runs while
    /// the device sleeps, or the time since the machine started when only a process was restarted. All running times go
    /// on, so nothing happens early or late. Probes that were in flight are forgotten, and those that succeeded still
    /// count.
    ///
    /// For sleeps shorter than half of what [the time in the word](crate#limits) reaches, that is 24 days (17 minutes in a
    /// 32-bit word with its default tick). After longer ones the word may take an open time of long ago for one that has
    /// just begun, and so in each of many boots: use [`restore_after`](Self::restore_after) with the time asleep.
    ///
    /// # Errors
    /// Same as [`restore`](Self::restore).
    pub fn restore_running(&self) -> Result<Option<Transition>, CorruptWord>
    where
        C: SharedClock,
    {
        self.take_up(|circuit, _| Machine::restore_running(circuit))
    }

    fn take_up(
        &self,
        mut step: impl FnMut(Circuit<W::Bits>, &Now<'_, C>) -> Step<W::Bits>,
    ) -> Result<Option<Transition>, CorruptWord> {
        let tick = W::Bits::LAYOUT.tick_log2;
        let (found, has_mark) = (self.to_bits(), self.word.has_mark(tick));
        let applied = self.apply(|circuit, now| {
            if has_mark {
                step(circuit, now)
            } else {
                Machine::<W::Bits>::start_over(circuit)
            }
        });
        // Not earlier, because a reset may come in between.
        self.word.set_mark(tick);
        self.notify(applied);
        if has_mark {
            // A corrupt word has been healed by now.
            found.check().map(|_| applied.made(&self.clock))
        } else {
            Err(CorruptWord::new(
                found.to_u64(),
                "its memory is not marked as having kept its content",
            ))
        }
    }
}
