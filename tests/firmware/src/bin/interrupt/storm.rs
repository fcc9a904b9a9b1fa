// SPDX-License-Identifier: MIT OR Apache-2.0
//! A task and an interrupt handler do random operations on one breaker. The timer is set to another random time at the
//! end of each interrupt and at the beginning of a third of the task's operations, so that over a run the handler comes
//! before any instruction of any operation.

use core::cell::RefCell;

use atomic_breaker_embassy::word::{AtomicU32, TickBits};
use atomic_breaker_embassy::{Failure, Outcome, Token};
use critical_section::Mutex;
use firmware::{Dice, next_in, number, on_interrupt};
use portable_atomic::Ordering::Relaxed;

use crate::judge::{Held, Judge, Who};
use crate::model::{Answer, End, Operation};
use crate::{DEVICE, notified};

/// Of task and handler together.
const OPERATIONS: u32 = number(option_env!("ATOMIC_BREAKER_OPERATIONS"), 50_000);
pub const SEED: u32 = number(option_env!("ATOMIC_BREAKER_SEED"), 1);
/// From the end of an interrupt to the next one: the least, so that the task gets on, and what is added at random.
const REST_NS: u32 = 10_000;
const MOST_NS: u32 = 20_000_000;
/// From the beginning of an operation: about as long as the longest one takes.
const MOST_WITHIN_NS: u32 = 200_000;
/// The time of an instruction in the emulator, as `run` starts it.
const INSTRUCTION_NS: u32 = 512;
/// While the task is busy with a permit from so many rounds ago, the handler changes nothing: one from 16 rounds ago
/// would look new.
const OLD: u32 = 12;

static JUDGE: Mutex<RefCell<Judge>> = Mutex::new(RefCell::new(Judge::new([0; 3])));
static HANDLERS_DICE: Mutex<RefCell<Dice>> = Mutex::new(RefCell::new(Dice::new(!SEED)));

fn judge<R>(look: impl FnOnce(&mut Judge) -> R) -> R {
    critical_section::with(|section| look(&mut JUDGE.borrow_ref_mut(section)))
}

/// Nonzero while the task is within an operation of the breaker, with the time since its start at which the interrupt
/// was to come, if that was set there.
static IS_WITHIN: AtomicU32 = AtomicU32::new(0);
static DUE_NS: AtomicU32 = AtomicU32::new(u32::MAX);

/// The number of times that the handler came.
#[derive(Clone, Copy)]
pub struct Came {
    pub ever: u32,
    /// While the task was within an operation.
    pub within: u32,
    /// One bit for each number of instructions after which it did.
    instants: [u32; 64],
}

static CAME: Mutex<RefCell<Came>> = Mutex::new(RefCell::new(Came {
    ever: 0,
    within: 0,
    instants: [0; 64],
}));

impl Came {
    /// The number of different moments at which the handler came, in instructions of an operation.
    pub fn instants(&self) -> u32 {
        self.instants.iter().map(|bits| bits.count_ones()).sum()
    }

    /// Returns whether the task is within an operation.
    fn count(&mut self) -> bool {
        self.ever += 1;
        let is_within = IS_WITHIN.load(Relaxed) != 0;
        if is_within {
            self.within += 1;
            // None but the first interrupt within an operation.
            let at = DUE_NS.swap(u32::MAX, Relaxed) / INSTRUCTION_NS;
            if let Some(bits) = self.instants.get_mut(at as usize / 32) {
                *bits |= 1 << (at % 32);
            }
        }
        is_within
    }
}

#[inline(never)]
fn perform(operation: Operation, bits: TickBits<0>) -> (Answer, TickBits<0>) {
    let made = match operation {
        Operation::Acquire => match DEVICE.acquire() {
            Ok(permit) => {
                let is_probe = permit.is_probe();
                let (bits, _) = permit.into_token().into_raw();
                // The epoch is the topmost field.
                let epoch = (bits.0 >> 28) as u16;
                return (Answer::Admitted { epoch, is_probe }, bits);
            }
            Err(rejected) => return (Answer::Rejected(rejected.state()), bits),
        },
        Operation::Report { end, .. } => {
            let permit = DEVICE.resume(Token::from_raw(bits, 0));
            match end {
                End::Success => permit.success(),
                End::Failure => permit.failure(),
                End::Tripping => permit.report(Failure::tripping()),
                End::Ignored => permit.report(Outcome::Ignored),
                End::Cancelled => permit.cancel(),
            }
        }
        Operation::ProbeNow => DEVICE.probe_now(),
        Operation::Reset => DEVICE.reset(),
    };
    (Answer::Made(made.map(|made| (made.to, made.epoch))), bits)
}

/// An operation, judged. Returns the permit if it grants one.
fn operate(who: Who, operation: Operation, bits: TickBits<0>, dice: &mut Dice) -> Option<Held> {
    let (answer, bits) = if who == Who::Task {
        judge(|judge| judge.begin(operation));
        DUE_NS.store(u32::MAX, Relaxed);
        if dice.one_in(3) {
            // Soon more often than late, as most operations are short.
            let longest_ns = 1 + dice.below(MOST_WITHIN_NS);
            let due_ns = dice.below(longest_ns);
            DUE_NS.store(due_ns, Relaxed);
            next_in(due_ns);
        }
        IS_WITHIN.store(1, Relaxed);
        let performed = perform(operation, bits);
        IS_WITHIN.store(0, Relaxed);
        performed
    } else {
        perform(operation, bits)
    };
    let round = judge(|judge| match who {
        Who::Task => judge.end(answer),
        Who::Handler => judge.at_once(operation, answer),
    });
    matches!(answer, Answer::Admitted { .. }).then_some(Held { bits, round })
}

fn report(who: Who, held: Held, dice: &mut Dice) {
    let end = match dice.below(32) {
        0..18 => End::Success,
        18..24 => End::Failure,
        24..25 => End::Tripping,
        25..28 => End::Ignored,
        _ => End::Cancelled,
    };
    let Held { bits, round } = held;
    operate(who, Operation::Report { round, end }, bits, dice);
}

/// A call, the end of one that the task or the handler began, or a command.
fn turn(who: Who, dice: &mut Dice) {
    const NONE: TickBits<0> = TickBits(0);
    let set_hand = |hand| {
        if who == Who::Task {
            judge(|judge| judge.hand = hand);
        }
    };
    let is_any = dice.one_in(4);
    if let Some(held) = judge(|judge| judge.take_for(who, is_any)) {
        report(who, held, dice);
        set_hand(None);
        return;
    }
    match dice.below(256) {
        0 => operate(who, Operation::Reset, NONE, dice),
        1..4 => operate(who, Operation::ProbeNow, NONE, dice),
        _ => {
            let Some(held) = operate(who, Operation::Acquire, NONE, dice) else {
                return;
            };
            set_hand(Some(held.round));
            if who == Who::Task {
                dice.delay(40);
            }
            if !dice.one_in(4) || !judge(|judge| judge.put(held)) {
                report(who, held, dice);
            }
            set_hand(None);
            None
        }
    };
}

fn handler() {
    // Or the emulator would see a short time pass again and again meanwhile.
    next_in(MOST_NS);
    critical_section::with(|section| {
        let is_within = CAME.borrow_ref_mut(section).count();
        let mut dice = HANDLERS_DICE.borrow_ref_mut(section);
        judge(Judge::arrive);
        for _ in 0..=dice.below(3) {
            if judge(|judge| judge.age_in_hand() < OLD) {
                turn(Who::Handler, &mut dice);
            }
        }
        judge(|judge| judge.leave(is_within));
        next_in(REST_NS + dice.below(MOST_NS));
    });
}

/// Returns what was done, and how often the handler came.
pub fn run() -> (Judge, Came) {
    let mut dice = Dice::new(SEED);
    judge(|judge| *judge = Judge::new(notified()));
    on_interrupt(handler);
    next_in(REST_NS);
    while judge(|judge| judge.done[0].operations + judge.done[1].operations) < OPERATIONS {
        turn(Who::Task, &mut dice);
        dice.delay(40);
    }
    // Time goes on while the task reports what is left.
    on_interrupt(|| {
        next_in(MOST_NS);
        judge(|judge| {
            judge.arrive();
            judge.leave(false);
        });
    });
    while let Some(held) = judge(|judge| judge.take_for(Who::Task, true)) {
        report(Who::Task, held, &mut dice);
        judge(|judge| judge.hand = None);
    }
    on_interrupt(|| ());
    judge(Judge::look);
    critical_section::with(|section| {
        let judge = JUDGE.replace(section, Judge::new([0; 3]));
        (judge, *CAME.borrow_ref(section))
    })
}
