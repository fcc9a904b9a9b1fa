// SPDX-License-Identifier: MIT OR Apache-2.0
//! Real threads: started together, with a word that lets others in before loads and exchanges.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use atomic_breaker::word::TickBits;
use atomic_breaker::{Breaker, Config, ManualClock, Rules};
use atomic_breaker_std::{AdjustableBreaker, KeptRules};
use tests::random::{Random, seed};
use tests::words::Contended;

use super::caller::{Caller, Held, Notes};
use super::figures::{FEWEST, Figures};
use super::history::History;
use super::plan::{CLOSING, Plan};
use super::time::{Share, cores, within};
use super::world::{Layout, World};

const CALLERS: usize = 4;
/// Rounds whose threads are started once.
const ROUNDS: usize = 16;

/// Shared by threads: the rules are those of an adjustable breaker.
struct Shared<B: Layout> {
    breaker: AdjustableBreaker<ManualClock, Contended<B::Native>>,
    configs: Vec<Config>,
    now: AtomicU64,
    stamps: AtomicU64,
}

impl<B: Layout> World for Shared<B> {
    type Word = Contended<B::Native>;

    fn word(&self) -> &Self::Word {
        self.breaker.word()
    }

    fn now(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    fn advance(&self, ms: u64) {
        self.now.fetch_add(ms, Ordering::SeqCst);
    }

    fn rules(&self) -> usize {
        let current = self.breaker.config();
        let place = self.configs.iter().position(|config| config == current);
        place.expect("rules that were set")
    }

    fn set_rules(&self, rules: usize) {
        self.breaker.set_config(self.configs[rules]).unwrap();
    }

    fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::SeqCst)
    }
}

/// A round that is ready to begin.
struct Round<B: Layout> {
    plan: Arc<Plan>,
    world: Shared<B>,
    sets: Vec<Rules<B>>,
}

impl<B: Layout> Round<B> {
    fn new(plan: Plan) -> Self {
        let configs: Vec<_> = plan.sets.iter().map(|rules| rules.config()).collect();
        let word =
            Contended::over(B::Native::from(B::closed_in(plan.epoch)), 2).and_before_loads(5);
        Self {
            world: Shared {
                breaker: Breaker::builder(configs[0], ManualClock::new())
                    .word(word)
                    .build_adjustable(KeptRules::new()),
                now: AtomicU64::new(plan.start),
                stamps: AtomicU64::new(0),
                configs: configs.clone(),
            },
            sets: configs.into_iter().map(Rules::new).collect(),
            plan: Arc::new(plan),
        }
    }

    fn perform(&self, caller: usize, held: Held<B>) -> (Notes, Held<B>) {
        let script = match caller {
            0 => &self.plan.prefix,
            _ => &self.plan.scripts[caller - 1],
        };
        self.caller(caller, held).perform(script)
    }

    fn close(&self) -> Notes {
        self.caller(0, Held::new()).perform(&CLOSING).0
    }

    fn caller(&self, number: usize, held: Held<B>) -> Caller<'_, Shared<B>> {
        Caller::new(&self.world, &self.plan, &self.sets, number as u64, held)
    }
}

/// A place where threads wait for each other, without going to sleep: they are to begin at the same moment.
#[derive(Default)]
struct Together(AtomicUsize);

impl Together {
    fn wait(&self, round: usize) {
        self.0.fetch_add(1, Ordering::SeqCst);
        let has_core = cores() >= CALLERS;
        while self.0.load(Ordering::SeqCst) < CALLERS * (round + 1) {
            if has_core {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
        }
    }
}

/// A thread that panics lets the others go on.
struct Opened<'a>(&'a Together);

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        if thread::panicking() {
            self.0.0.store(usize::MAX / 2, Ordering::SeqCst);
        }
    }
}

/// Deals the permits of the prefix out.
pub(crate) fn deal<B>(held: Held<B>, callers: usize) -> Vec<Held<B>> {
    let mut dealt: Vec<Held<B>> = (0..callers).map(|_| Held::new()).collect();
    for (place, permit) in held.into_iter().enumerate() {
        dealt[place % callers].push(permit);
    }
    dealt
}

/// Plays some rounds, each with the same threads.
fn play<B: Layout>(seed: u64, figures: &mut Figures) -> Vec<History> {
    let mut random = Random::new(seed);
    let mut draw = || u64::from(random.next_u32()) << 32 | u64::from(random.next_u32());
    let rounds: Vec<Round<B>> = (0..ROUNDS)
        .map(|_| Round::new(Plan::draw(B::GRAIN, CALLERS, draw())))
        .collect();
    let mut notes = Vec::new();
    let mut dealt: Vec<Vec<Held<B>>> = (0..CALLERS).map(|_| Vec::new()).collect();
    for round in &rounds {
        let (prefix, held) = round.perform(0, Held::new());
        notes.push(vec![prefix]);
        for (dealt, held) in dealt.iter_mut().zip(deal(held, CALLERS)) {
            dealt.push(held);
        }
    }
    for played in at_once(&rounds, dealt) {
        for (notes, played) in notes.iter_mut().zip(played) {
            notes.push(played);
        }
    }
    let histories = rounds.iter().zip(notes).map(|(round, mut notes)| {
        notes.push(round.close());
        figures.lost += round.world.word().lost();
        History::new(&round.plan, notes)
    });
    histories.collect()
}

/// The notes of each caller in each round.
fn at_once<B: Layout>(rounds: &[Round<B>], dealt: Vec<Vec<Held<B>>>) -> Vec<Vec<Notes>> {
    let together = &Together::default();
    thread::scope(|scope| {
        let callers = (1..).zip(dealt).map(|(caller, dealt)| {
            scope.spawn(move || {
                let _opened = Opened(together);
                let played = rounds.iter().zip(dealt).enumerate();
                let played = played.map(|(number, (round, held))| {
                    together.wait(number);
                    round.perform(caller, held).0
                });
                played.collect::<Vec<_>>()
            })
        });
        let callers: Vec<_> = callers.collect();
        let played = callers.into_iter().map(|caller| caller.join().unwrap());
        played.collect()
    })
}

/// Histories of real threads.
pub(crate) fn histories<B: Layout>(seed: u64) -> Vec<History> {
    play::<B>(seed, &mut Figures::default())
}

/// The history of a plan whose callers take turns.
pub(crate) fn one_after_another<B: Layout>(seed: u64) -> History {
    let round = Round::<B>::new(Plan::draw(B::GRAIN, CALLERS, seed));
    let (prefix, held) = round.perform(0, Held::new());
    let mut notes = vec![prefix];
    for (caller, held) in deal(held, CALLERS).into_iter().enumerate() {
        notes.push(round.perform(caller + 1, held).0);
    }
    notes.push(round.close());
    History::new(&round.plan, notes)
}

fn rounds<B: Layout>(share: Share) {
    let figures = within(share, cores().div_ceil(CALLERS), |group, end| {
        let mut figures = Figures::default();
        let mut random = Random::new(seed() ^ group << 40 ^ u64::from(B::EPOCH_SHIFT));
        while Instant::now() < end || figures.rounds < FEWEST {
            for history in play::<B>(random.next_u32().into(), &mut figures) {
                if let Err(fault) = history.judge(&mut figures) {
                    panic!("{fault}");
                }
            }
        }
        figures
    });
    println!(
        "{CALLERS} threads, {}-bit word: {figures}",
        8 * size_of::<B>()
    );
    figures.have_met();
}

#[test]
fn what_threads_see_of_a_64_bit_word_is_one_order_of_the_reference() {
    rounds::<u64>(Share::THREADS);
}

#[test]
fn what_threads_see_of_a_32_bit_word_is_one_order_of_the_reference() {
    rounds::<TickBits<3>>(Share::THREADS);
}
