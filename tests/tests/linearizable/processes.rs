// SPDX-License-Identifier: MIT OR Apache-2.0
//! Several processes over words of mapped files: this program once more, which plays its part of each round.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use atomic_breaker::word::Word;
use atomic_breaker::{Config, Rules, Token};
use atomic_breaker_mapped::{MappedWord, open};
use test_support::child::{Process, serve_parent};
use tests::random::{Random, seed};
use tests::words::Contended;

use super::caller::{Caller, Held, Notes};
use super::figures::{FEWEST, Figures};
use super::history::History;
use super::operation::{Change, Inputs, Record, Recorded};
use super::plan::{CLOSING, Plan};
use super::threads::deal;
use super::time::{Share, within};
use super::world::{Layout, World};

const CALLERS: usize = 3;
/// Nobody waits longer than this for the others to begin.
const LONGEST: Duration = Duration::from_secs(30);
const PART: &str = "processes::plays_its_part_in_another_process";
/// Names no test: it tells a child that it is one.
const CHILD: &str = "in-another-process";

/// The word of a breaker, and four more of the kind as plain numbers, each in a file of its own.
struct Mapped {
    word: Contended<MappedWord>,
    now: MappedWord,
    rules: MappedWord,
    stamps: MappedWord,
    /// The number of callers that have begun, in all rounds.
    begun: MappedWord,
}

impl Mapped {
    fn open(folder: &Path) -> Self {
        let word = |name: &str| {
            let breaker = open(folder.join(name), Config::new()).unwrap();
            breaker.word().clone()
        };
        Self {
            word: Contended::over(word("word"), 2).and_before_loads(5),
            now: word("now"),
            rules: word("rules"),
            stamps: word("stamps"),
            begun: word("begun"),
        }
    }
}

fn get(word: &impl Word<Bits = u64>) -> u64 {
    word.load(Ordering::SeqCst)
}

/// Changes a number. Returns what it was.
fn change(word: &impl Word<Bits = u64>, step: impl Fn(u64) -> u64) -> u64 {
    let mut seen = get(word);
    loop {
        let order = Ordering::SeqCst;
        match word.compare_exchange_weak(seen, step(seen), order, order) {
            Ok(_) => return seen,
            Err(found) => seen = found,
        }
    }
}

impl World for Mapped {
    type Word = Contended<MappedWord>;

    fn word(&self) -> &Self::Word {
        &self.word
    }

    fn now(&self) -> u64 {
        get(&self.now)
    }

    fn advance(&self, ms: u64) {
        change(&self.now, |now| now + ms);
    }

    fn rules(&self) -> usize {
        get(&self.rules) as usize
    }

    fn set_rules(&self, rules: usize) {
        change(&self.rules, |_| rules as u64);
    }

    fn stamp(&self) -> u64 {
        change(&self.stamps, |stamp| stamp + 1)
    }
}

fn sets(plan: &Plan) -> Vec<Rules<u64>> {
    plan.sets.iter().map(|it| Rules::new(it.config())).collect()
}

/// A folder for the files, in memory if possible, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let parent = if memory.is_dir() {
            memory.into()
        } else {
            env::temp_dir()
        };
        let path = parent.join(format!("linearizable-{}", process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The orders of a child: its number, the round, the seed of the plan, and the permits that it holds.
fn order(caller: usize, round: u64, seed: u64, held: Held<u64>) -> String {
    let mut line = format!("{caller} {round} {seed}");
    for (id, token) in held {
        let (granted, started) = token.into_raw();
        let _ = write!(line, " {id} {granted} {started}");
    }
    line
}

/// The child's side of a round.
fn play(world: &Mapped, line: &str) {
    let mut numbers = line.split(' ').map(|number| number.parse::<u64>().unwrap());
    let mut number = || numbers.next().unwrap();
    let (caller, round, seed) = (number(), number(), number());
    let rest: Vec<_> = numbers.collect();
    let held = rest
        .chunks(3)
        .map(|it| (it[0], Token::from_raw(it[1], it[2] as u32)));
    let plan = Plan::draw(u64::GRAIN, CALLERS, seed);
    let (sets, script) = (sets(&plan), &plan.scripts[caller as usize - 1]);
    let player = Caller::new(world, &plan, &sets, caller, held.collect());
    change(&world.begun, |begun| begun + 1);
    let asked = Instant::now();
    while get(&world.begun) < CALLERS as u64 * (round + 1) {
        assert!(asked.elapsed() < LONGEST, "the others have not begun");
        thread::yield_now();
    }
    let lost = world.word.lost();
    let notes = written(&player.perform(script).0);
    print!("{notes}\nover {}\n", world.word.lost() - lost);
}

/// Notes as lines.
fn written(notes: &Notes) -> String {
    let mut text = String::new();
    for (record, step) in notes.records.iter().zip(&notes.steps) {
        let Inputs {
            now,
            rules,
            dice,
            drawn,
        } = record.inputs;
        let or_dash = |number: Option<u64>| number.map_or("-".into(), |number| number.to_string());
        let _ = writeln!(
            text,
            "record {step} {} {now} {rules} {dice} {} {} {} {:?}",
            or_dash(record.operation.permit()),
            or_dash(drawn),
            record.called,
            record.returned,
            record.here().unwrap(),
        );
    }
    for change in &notes.changes {
        let Change {
            rules,
            called,
            returned,
        } = change;
        let _ = writeln!(text, "change {rules} {called} {returned}");
    }
    text
}

/// The parent's side: the notes of a child, whose script is known.
fn read(child: &mut Process, plan: &Plan, asker: u64, lost: &mut u64) -> Notes {
    let mut notes = Notes::default();
    loop {
        let line = child.line().expect("the other process plays its part");
        let mut words = line.split(' ');
        // Beside lines of the test harness.
        match words.next() {
            Some("over") => {
                *lost += words.next().unwrap().parse::<u64>().unwrap();
                return notes;
            }
            Some("record") => {}
            Some("change") => {
                let mut number = || words.next().unwrap().parse().unwrap();
                notes.changes.push(Change {
                    rules: number() as usize,
                    called: number(),
                    returned: number(),
                });
                continue;
            }
            _ => continue,
        }
        let mut number = || words.next().unwrap().parse::<u64>().ok();
        let step = plan.scripts[asker as usize - 1][number().unwrap() as usize];
        let permit = number();
        let next = asker << 16 | notes.records.len() as u64;
        let inputs = Inputs {
            now: number().unwrap(),
            rules: number().unwrap() as usize,
            dice: number().unwrap() as u32,
            drawn: number(),
        };
        let (called, returned) = (number().unwrap(), number().unwrap());
        let answer = words.collect::<Vec<_>>().join(" ");
        notes.records.push(Record {
            caller: asker,
            operation: step.operation(permit, next).unwrap(),
            inputs,
            answer: Recorded::Elsewhere(answer),
            called,
            returned,
        });
    }
}

/// A round of all children, which begin together.
fn round(
    world: &Mapped,
    children: &mut [Process],
    number: u64,
    seed: u64,
    lost: &mut u64,
) -> History {
    let plan = Arc::new(Plan::draw(u64::GRAIN, CALLERS, seed));
    change(world.word(), |_| u64::closed_in(plan.epoch));
    change(&world.now, |_| plan.start);
    world.set_rules(0);
    let sets = sets(&plan);
    let parent = || Caller::new(world, &plan, &sets, 0, Held::new());
    let (prefix, held) = parent().perform(&plan.prefix);
    let callers = children.iter_mut().zip(deal(held, CALLERS));
    for (caller, (child, held)) in callers.enumerate() {
        child.tell(&order(caller + 1, number, seed, held)).unwrap();
    }
    let mut notes = vec![prefix];
    for (caller, child) in (1..).zip(children) {
        notes.push(read(child, &plan, caller, lost));
    }
    notes.push(parent().perform(&CLOSING).0);
    History::new(&plan, notes)
}

#[test]
fn what_processes_see_of_a_word_in_a_file_is_one_order_of_the_reference() {
    let folder = Folder::new();
    let world = Mapped::open(&folder.0);
    let figures = within(Share::PROCESSES, 1, |_, end| {
        let start = |_| {
            let mut child = Process::start(&["--exact", PART, CHILD, "--nocapture"]).unwrap();
            child.tell(folder.0.to_str().unwrap()).unwrap();
            child
        };
        let mut children: Vec<_> = (0..CALLERS).map(start).collect();
        let mut figures = Figures::default();
        let mut random = Random::new(seed() ^ 1 << 50);
        let mut number = 0;
        while Instant::now() < end || number < FEWEST {
            let seed = random.next_u32().into();
            let history = round(&world, &mut children, number, seed, &mut figures.lost);
            if let Err(fault) = history.judge(&mut figures) {
                panic!("{fault}");
            }
            number += 1;
        }
        figures
    });
    println!("{CALLERS} processes, 64-bit word in a file: {figures}");
    figures.have_met();
}

/// Does nothing unless the test above has started this process.
#[test]
fn plays_its_part_in_another_process() {
    if !env::args().any(|argument| argument == CHILD) {
        return;
    }
    let mut world = None;
    serve_parent(|line| match &world {
        None => world = Some(Mapped::open(Path::new(line))),
        Some(world) => play(world, line),
    });
}
