// SPDX-License-Identifier: MIT OR Apache-2.0
//! Pings the keys that are open, so that no caller has to find out whether they are back.

use std::collections::HashMap;
use std::future::poll_fn;
use std::hash::{BuildHasher, Hash};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use atomic_breaker::{Clock, Snapshot, State, Tally, Unguarded, wait::Prober};
use tokio::time::{sleep, timeout};

use super::{KeyedObserver, Registry};

impl<K: Hash + Eq + Clone, C: Clock, T: Tally, O: KeyedObserver<K>, S: BuildHasher>
    Registry<K, C, T, O, S>
{
    /// Pings the keys that are open, and closes each one as soon as it answers, as a [`Prober`] does for one breaker: runs
    /// forever, in a task of its own. Callers are rejected until the open time is over or a ping was answered; so with a
    /// long open time no caller is risked.
    ///
    /// - At most `at_once` pings are under way, and no more are begun in each pause of the prober, the keys taking turns: with
    ///   100 open keys, 10 at once and a pause of a second, each is pinged every ten seconds if pings take less than a
    ///   second. 0 counts as 1.
    /// - `ping` is given the key and how far to [repair](crate::AnyPermit::trips) it first: how often in a row it has tripped,
    ///   plus the pings that have failed in this outage. A ping that panics or takes longer than the prober's limit, repair
    ///   included, has failed. It goes to the resource itself, as the registry would reject it: so its error is [`Unguarded`];
    ///   if another breaker guards it, map the error.
    /// - A key that answers pings but fails again when callers return is not pinged for two pauses, then four, and at most
    ///   64; once it has stayed up for 64 pauses, this is forgotten. Meanwhile its open time ends with a probe as usual.
    /// - An open time of which a part was demanded, by a `Retry-After` or an operator, is waited for, **all of it**, as the
    ///   [`Prober`] says: where a resource demands pauses, do not set a longer open time than you would wait.
    /// - A panic of the observer does not end the pings.
    ///
    /// While nothing is open, it looks at the slots that are in use, once in each pause.
    ///
    /// A closure that captures something clones it for each ping: `move |key, _| { let pool = pool.clone(); async move { .. } }`.
    ///
    /// ```
    /// use atomic_breaker_server::{Config, Prober, Registry};
    /// use std::{io, sync::{Arc, LazyLock}, time::Duration};
    ///
    /// static SHARDS: LazyLock<Registry<u16>> = LazyLock::new(|| {
    ///     Registry::new(Config::new().open_for(Duration::from_secs(60))).expect("constant rules")
    /// });
    ///
    /// # async fn reconnect(_: u16) -> io::Result<()> { Ok(()) }
    /// # async fn select_one(_: u16) -> io::Result<()> { Ok(()) }
    /// async fn ping(shard: Arc<u16>, trips: u8) -> io::Result<()> {
    ///     if trips > 2 {
    ///         reconnect(*shard).await?;
    ///     }
    ///     select_one(*shard).await
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// tokio::spawn(SHARDS.run_prober(Prober::every(Duration::from_secs(1)), 10, ping));
    /// # }
    /// ```
    ///
    /// Not through the registry:
    ///
    /// ```compile_fail,E0277
    /// # use atomic_breaker_server::{Config, Guard, Prober, Registry};
    /// # use std::{io, sync::LazyLock, time::Duration};
    /// # static SHARDS: LazyLock<Registry<u16>> = LazyLock::new(|| Registry::new(Config::new()).unwrap());
    /// # async fn select_one(_: u16) -> io::Result<()> { Ok(()) }
    /// let pings = SHARDS.run_prober(Prober::every(Duration::from_secs(1)), 10, |shard, _| async move {
    ///     SHARDS.of(*shard).call_async(|| select_one(*shard)).await
    /// });
    /// ```
    pub async fn run_prober<V, E: Unguarded, F>(
        &self,
        prober: Prober,
        at_once: usize,
        ping: impl Fn(Arc<K>, u8) -> F,
    ) -> !
    where
        F: Future<Output = Result<V, E>>,
    {
        // With a pause of zero, other tasks would get no turn.
        let pause = prober.pause().max(Duration::from_millis(1));
        let ping = &ping;
        let mut outages = Outages::<K>::default();
        let mut pings = Vec::new();
        let mut look = Box::pin(sleep(pause));
        loop {
            let event = poll_fn(|context| next(&mut pings, look.as_mut(), context)).await;
            if let Some(Answer { key, is_up }) = event {
                let now = self.entry(&key).map(|entry| entry.snapshot);
                if outages.note(&key, is_up, now, &prober) && self.ends_outage(&key) {
                    outages.note_end(&key);
                }
                continue;
            }
            look.set(sleep(pause));
            outages.look(self.entries().map(|entry| (entry.key, entry.snapshot)));
            let free = at_once.max(1).saturating_sub(pings.len());
            for (key, trips) in outages.next(free) {
                let pinged = Arc::clone(&key);
                let answer = async move {
                    let answer = timeout(prober.limit(), async { ping(pinged, trips).await });
                    matches!(answer.await, Ok(Ok(_)))
                };
                pings.push(Ping {
                    key,
                    answer: Box::pin(answer),
                });
            }
        }
    }

    /// Returns whether this ends an outage of the key: not if it has ended already, or the key has lost its slot and so
    /// is closed, nor if real calls hold all probe slots.
    fn ends_outage(&self, key: &K) -> bool {
        let recover = || {
            self.command_if_present(key, |breaker| {
                let was_down = is_down(breaker.state());
                breaker.recover();
                was_down && !is_down(breaker.state())
            })
        };
        // If an observer panics, the pings of all keys go on.
        matches!(catch_unwind(AssertUnwindSafe(recover)), Ok(Some(true)))
    }
}

const fn is_down(state: State) -> bool {
    matches!(state, State::Open | State::HalfOpen)
}

/// A ping that is under way.
struct Ping<K, A> {
    key: Arc<K>,
    answer: Pin<Box<A>>,
}

struct Answer<K> {
    key: Arc<K>,
    is_up: bool,
}

/// The next answer, or `None` when it is time to look.
fn next<K, A: Future<Output = bool>>(
    pings: &mut Vec<Ping<K, A>>,
    look: Pin<&mut impl Future>,
    context: &mut Context<'_>,
) -> Poll<Option<Answer<K>>> {
    for index in 0..pings.len() {
        let polled = {
            let answer = pings[index].answer.as_mut();
            let polled = catch_unwind(AssertUnwindSafe(|| answer.poll(context)));
            polled.unwrap_or(Poll::Ready(false))
        };
        if let Poll::Ready(is_up) = polled {
            let Ping { key, answer } = pings.swap_remove(index);
            // What was pinged may panic in its destructor, too.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(answer)));
            return Poll::Ready(Some(Answer { key, is_up }));
        }
    }
    look.poll(context).map(|_| None)
}

/// Pauses for which an outage that the pings ended is remembered, and the most between two pings of a key that lies.
const LONGEST: u64 = 64;

/// The keys that are down, and those that were until a short while ago.
struct Outages<K> {
    keys: HashMap<Arc<K>, KeyOutage>,
    /// Pauses so far.
    now: u64,
    /// Pings so far.
    pings: u64,
}

#[derive(Default)]
struct KeyOutage {
    /// The trips of the breaker, if a ping could end its outage.
    wanted: Option<u8>,
    /// `true` if it was down when last seen.
    is_down: bool,
    /// Its outage, as long as it is down.
    seen: Option<Snapshot>,
    is_under_way: bool,
    /// The number of its last ping, or of the last one before this outage: those with the smallest have waited for longest.
    pinged: u64,
    /// The first pause in which it may be pinged.
    next: u64,
    answered: u32,
    failed: u8,
    /// The pause in which the pings ended it.
    ended: Option<u64>,
    /// The number of times that it began again soon after that.
    lies: u32,
}

impl KeyOutage {
    /// Notes its state. Counts begin anew with each outage, also if it began unseen after the end of another one. Returns
    /// whether they did.
    fn see(&mut self, now: Snapshot) -> bool {
        let seen = self.seen.replace(now);
        let is_another = !seen.is_some_and(|seen| Prober::is_same_outage::<u64>(&seen, &now));
        if is_another {
            (self.answered, self.failed) = (0, 0);
        }
        is_another
    }
}

impl<K> Default for Outages<K> {
    fn default() -> Self {
        Self {
            keys: HashMap::new(),
            now: 0,
            pings: 0,
        }
    }
}

impl<K: Hash + Eq> Outages<K> {
    /// Another pause is over: these are the keys now.
    fn look(&mut self, keys: impl Iterator<Item = (Arc<K>, Snapshot)>) {
        self.now += 1;
        for outage in self.keys.values_mut() {
            (outage.wanted, outage.is_down) = (None, false);
        }
        for (key, snapshot) in keys.filter(|(_, snapshot)| is_down(snapshot.state())) {
            let outage = self.keys.entry(key).or_insert_with(|| KeyOutage {
                pinged: self.pings,
                ..KeyOutage::default()
            });
            outage.is_down = true;
            outage.see(snapshot);
            outage.wanted = Prober::wants(&snapshot).then(|| snapshot.trips().max(1));
            if outage.ended.take().is_some() {
                outage.lies += 1;
                let pauses = 1_u64.checked_shl(outage.lies).unwrap_or(LONGEST);
                outage.next = self.now + pauses.min(LONGEST);
                outage.pinged = self.pings;
            }
        }
        let now = self.now;
        self.keys.retain(|_, outage| {
            if !outage.is_down {
                outage.seen = None;
            }
            let is_recent = outage.ended.is_some_and(|ended| now - ended < LONGEST);
            outage.is_down || outage.is_under_way || is_recent
        });
    }

    /// At most that many keys to ping now: those that have waited for longest.
    fn next(&mut self, most: usize) -> Vec<(Arc<K>, u8)> {
        let now = self.now;
        let mut wanted: Vec<_> = self
            .keys
            .iter_mut()
            .filter(|(_, outage)| !outage.is_under_way && outage.next <= now)
            .filter_map(|(key, outage)| Some((Arc::clone(key), outage.wanted?, outage)))
            .collect();
        wanted.sort_by_key(|(_, _, outage)| outage.pinged);
        wanted.truncate(most);
        let pings = &mut self.pings;
        let begun = wanted.into_iter().map(|(key, trips, outage)| {
            *pings += 1;
            (outage.is_under_way, outage.pinged) = (true, *pings);
            (key, trips.saturating_add(outage.failed))
        });
        begun.collect()
    }

    /// A ping has ended, while the key is in that state. Returns whether it shows that the key is back.
    fn note(&mut self, key: &K, is_up: bool, now: Option<Snapshot>, prober: &Prober) -> bool {
        let Some(outage) = self.keys.get_mut(key) else {
            return false;
        };
        outage.is_under_way = false;
        let is_another = now.is_some_and(|now| outage.see(now));
        if !is_up {
            // About an outage that someone else has ended, it says nothing about the next one.
            let failed = outage.failed.saturating_add(u8::from(!is_another));
            (outage.answered, outage.failed) = (0, failed);
            return false;
        }
        outage.answered += 1;
        let is_back = prober.is_convinced(outage.answered);
        if is_back {
            (outage.answered, outage.failed) = (0, 0);
        }
        is_back
    }

    /// The pings have ended the outage of a key.
    fn note_end(&mut self, key: &K) {
        if let Some(outage) = self.keys.get_mut(key) {
            outage.ended = Some(self.now);
        }
    }
}
