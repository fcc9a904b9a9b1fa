// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random schedules: every access to the word, the time and the rules is a point where another caller may go on.

use std::marker::PhantomData;
use std::mem;
use std::sync::atomic::{AtomicU64 as Plain, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use atomic_breaker::Rules;
use atomic_breaker::word::{Bits, TickBits, Word};
use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::atomic::AtomicU64;
use shuttle::{Config, Runner, thread};
use tests::random::{Random, seed};

use super::caller::{Caller, Held, Notes};
use super::figures::{FEWEST, Figures};
use super::history::History;
use super::plan::{CLOSING, Plan};
use super::threads::deal;
use super::time::{Share, cores, within};
use super::world::{Layout, World};

const CALLERS: usize = 3;
/// Schedules of a plan, by each of two schedulers.
const SCHEDULES: usize = 8;
/// The number of times that the second scheduler lets a caller of lower priority go first.
const DEPTH: usize = 4;

/// A word of either layout.
struct Scheduled<B> {
    word: AtomicU64,
    bits: PhantomData<B>,
}

impl<B: Bits> Word for Scheduled<B> {
    type Bits = B;

    fn load(&self, _: Ordering) -> B {
        B::from_u64(self.word.load(Ordering::SeqCst))
    }

    fn compare_exchange_weak(&self, current: B, new: B, _: Ordering, _: Ordering) -> Result<B, B> {
        let (current, new) = (current.to_u64(), new.to_u64());
        self.word
            .compare_exchange(current, new, Ordering::SeqCst, Ordering::SeqCst)
            .map(B::from_u64)
            .map_err(B::from_u64)
    }
}

struct Shared<B> {
    word: Scheduled<B>,
    now: AtomicU64,
    rules: AtomicU64,
    /// Not a point where others go on.
    stamps: Plain,
}

impl<B: Bits> World for Shared<B> {
    type Word = Scheduled<B>;

    fn word(&self) -> &Scheduled<B> {
        &self.word
    }

    fn now(&self) -> u64 {
        self.now.load(Ordering::SeqCst)
    }

    fn advance(&self, ms: u64) {
        self.now.fetch_add(ms, Ordering::SeqCst);
    }

    fn rules(&self) -> usize {
        self.rules.load(Ordering::SeqCst) as usize
    }

    fn set_rules(&self, rules: usize) {
        self.rules.store(rules as u64, Ordering::SeqCst);
    }

    fn stamp(&self) -> u64 {
        self.stamps.fetch_add(1, Ordering::SeqCst)
    }
}

/// One schedule of a plan.
fn perform<B: Layout>(plan: &Arc<Plan>, sets: &Arc<[Rules<B>]>) -> Vec<Notes> {
    let world = Arc::new(Shared {
        word: Scheduled::<B> {
            word: AtomicU64::new(B::closed_in(plan.epoch).to_u64()),
            bits: PhantomData,
        },
        now: AtomicU64::new(plan.start),
        rules: AtomicU64::new(0),
        stamps: Plain::new(0),
    });
    let (prefix, held) = Caller::new(&*world, plan, sets, 0, Held::new()).perform(&plan.prefix);
    let callers: Vec<_> = (1..)
        .zip(deal(held, CALLERS))
        .map(|(caller, held)| {
            let (world, plan, sets) = (world.clone(), plan.clone(), sets.clone());
            thread::spawn(move || {
                let script = &plan.scripts[caller as usize - 1];
                Caller::new(&*world, &plan, &sets, caller, held)
                    .perform(script)
                    .0
            })
        })
        .collect();
    let mut notes = vec![prefix];
    notes.extend(callers.into_iter().map(|caller| caller.join().unwrap()));
    let closing = Caller::new(&*world, plan, sets, 0, Held::new());
    notes.push(closing.perform(&CLOSING).0);
    notes
}

/// The histories of a plan under the schedules of a scheduler.
fn histories_by<B: Layout>(plan: &Arc<Plan>, scheduler: impl Scheduler + 'static) -> Vec<History> {
    let sets: Arc<[Rules<B>]> = plan.sets.iter().map(|it| Rules::new(it.config())).collect();
    let played = Arc::new(Mutex::new(Vec::new()));
    let (kept, same) = (played.clone(), plan.clone());
    let mut config = Config::new();
    config.stack_size = 1 << 17;
    Runner::new(scheduler, config).run(move || {
        let notes = perform(&same, &sets);
        kept.lock().unwrap().push(notes);
    });
    let played = mem::take(&mut *played.lock().unwrap());
    let histories = played.into_iter().map(|notes| History::new(plan, notes));
    histories.collect()
}

/// The histories of the plan of a seed.
pub(crate) fn histories<B: Layout>(seed: u64) -> Vec<History> {
    let plan = Arc::new(Plan::draw(B::GRAIN, CALLERS, seed));
    let random = RandomScheduler::new_from_seed(seed, SCHEDULES);
    let pct = PctScheduler::new_from_seed(seed, DEPTH, SCHEDULES);
    let mut histories = histories_by::<B>(&plan, random);
    histories.extend(histories_by::<B>(&plan, pct));
    histories
}

fn rounds<B: Layout>(share: Share) {
    let figures = within(share, cores(), |group, end| {
        let mut figures = Figures::default();
        let mut random = Random::new(seed() ^ group << 40 ^ u64::from(B::EPOCH_SHIFT) << 8);
        while Instant::now() < end || figures.rounds < 4 * FEWEST {
            for history in histories::<B>(random.next_u32().into()) {
                if let Err(fault) = history.judge(&mut figures) {
                    panic!("{fault}");
                }
            }
        }
        figures
    });
    println!(
        "{CALLERS} callers by random schedules, {}-bit word: {figures}",
        8 * size_of::<B>()
    );
    figures.have_met();
}

#[test]
fn what_callers_see_in_random_schedules_of_a_64_bit_word_is_one_order_of_the_reference() {
    rounds::<u64>(Share::SCHEDULES);
}

#[test]
fn what_callers_see_in_random_schedules_of_a_32_bit_word_is_one_order_of_the_reference() {
    rounds::<TickBits<3>>(Share::SCHEDULES);
}
