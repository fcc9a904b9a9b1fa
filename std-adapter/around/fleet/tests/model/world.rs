// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances, their engine, and the messages between them. Everything happens in common ticks.

use super::mail::Mail;
use super::mutation::Mutation;
use super::word::{Made, State, Word};
use super::{POLL_TICKS, TICK_MS, WINDOW_MS, fleet, rules};
use crate::{Context, Input, InstanceId, Ledger, Local, Member, Message, Name, Notice};

#[derive(Clone)]
pub(super) struct World {
    pub(super) now: u64,
    /// Since the last poll.
    pub(super) tick: u64,
    pub(super) is_up: bool,
    pub(super) engine: Engine,
    pub(super) instances: Vec<Instance>,
    pub(super) quorum: u32,
    /// The instances that are called rarely; all others are called at each tick.
    pub(super) seldom: Vec<usize>,
    /// The instances that have callers that look first, and do not call a breaker that is open.
    pub(super) looks: Vec<usize>,
    /// The instances that have no callers.
    pub(super) idle: Vec<usize>,
    pub(super) mutation: Option<Mutation>,
    /// The instances that tripped because of their own outcomes, and the times.
    pub(super) trips: Vec<(usize, u64)>,
    /// The instances that have probed in the period with this mark.
    pub(super) probes: (u64, Vec<usize>),
    /// Two instances may probe in a period, because a message was lost.
    pub(super) may_probe_twice: bool,
    /// The fault that was found.
    pub(super) wrong: Option<&'static str>,
}

#[derive(Clone)]
pub(super) struct Engine {
    pub(super) ledger: Ledger,
    pub(super) is_gone: bool,
    /// The data of a lagging replica.
    pub(super) older: Option<Ledger>,
    /// The last message, to be delivered once more.
    pub(super) published: Option<Notice>,
    /// The time by which its clock is behind that of the model.
    pub(super) behind_ms: u64,
    pub(super) marks: u64,
}

#[derive(Clone)]
#[allow(clippy::struct_excessive_bools, reason = "each by itself")]
pub(super) struct Instance {
    pub(super) id: u128,
    pub(super) member: Member,
    pub(super) word: Word,
    pub(super) inbox: Vec<Mail>,
    pub(super) is_connected: bool,
    pub(super) is_dead: bool,
    pub(super) is_paused: bool,
    /// Its calls fail, whatever the resource does.
    pub(super) is_sick: bool,
    /// Its next probe hangs.
    pub(super) hangs: bool,
    /// A probe hangs, and it makes no other call.
    pub(super) is_hung: bool,
    /// Marks of the periods that it was told have ended.
    pub(super) ended: Vec<u64>,
}

pub(super) fn name() -> Name {
    Name::new("n").expect("a short name")
}

impl World {
    pub(super) fn new(instances: usize, quorum: u32) -> Self {
        let mut world = Self {
            now: 1 << 40,
            tick: 0,
            is_up: true,
            engine: Engine {
                ledger: Ledger::default(),
                is_gone: false,
                older: None,
                published: None,
                behind_ms: 0,
                marks: 1,
            },
            instances: Vec::new(),
            quorum,
            seldom: Vec::new(),
            looks: Vec::new(),
            idle: Vec::new(),
            mutation: None,
            trips: Vec::new(),
            probes: (0, Vec::new()),
            may_probe_twice: false,
            wrong: None,
        };
        for who in 0..instances {
            let instance = world.instance(who as u128 + 1);
            world.instances.push(instance);
        }
        world
    }

    pub(super) fn instance(&self, id: u128) -> Instance {
        Instance {
            id,
            member: Member::new(&fleet(self.quorum), &rules(), 0),
            word: Word::default(),
            inbox: Vec::new(),
            is_connected: false,
            is_dead: false,
            is_paused: false,
            is_sick: false,
            hangs: false,
            is_hung: false,
            ended: Vec::new(),
        }
    }

    /// Clocks of instances differ.
    pub(super) fn clock(&self, who: usize) -> u64 {
        self.now + who as u64 * 3_600_000
    }

    pub(super) fn engine_ms(&self) -> u64 {
        self.now - self.engine.behind_ms
    }

    pub(super) fn publish(&mut self, notice: Notice) {
        self.engine.published = Some(notice);
        for instance in &mut self.instances {
            if !instance.is_dead {
                instance.inbox.push(Mail::Published(notice));
            }
        }
    }

    pub(super) fn step(&mut self) {
        self.now += TICK_MS;
        self.tick = (self.tick + 1) % POLL_TICKS;
        let now = self.now;
        self.trips.retain(|(_, at)| now - at <= WINDOW_MS);
        let awake: Vec<usize> = (0..self.instances.len())
            .filter(|&who| !self.instances[who].is_dead && !self.instances[who].is_paused)
            .collect();
        for &who in &awake {
            for mail in std::mem::take(&mut self.instances[who].inbox) {
                self.receive(who, mail);
            }
        }
        for &who in &awake {
            for _ in 0..8 {
                let due = self.instances[who].member.due_ms();
                if due.is_none_or(|due| due > self.clock(who)) {
                    break;
                }
                self.input(who, Input::Time);
            }
            if self.tick == 0 || !self.instances[who].is_connected {
                self.read(who);
            }
        }
        for &who in &awake {
            let is_time = !self.seldom.contains(&who) || self.tick as usize == who;
            if is_time && !self.idle.contains(&who) {
                self.call(who);
            }
        }
    }

    fn receive(&mut self, who: usize, mail: Mail) {
        let notice = match mail {
            Mail::Published(notice) => Some(notice),
            Mail::Answer(_, _, answer) => answer.and_then(|answer| answer.notice),
            Mail::Read(_, notice) => notice,
        };
        if let Some(Notice::Closed(id)) = notice {
            self.instances[who].ended.push(id.mark);
        }
        let believes = self.mutation != Some(Mutation::AnswersAreMessages);
        // With that mutation, responses look older than everything that is known, so they are not newer.
        let asked = |asked_ms| if believes { asked_ms } else { 0 };
        match mail {
            Mail::Published(notice) => self.input(who, Input::Notice(notice)),
            Mail::Answer(ask, asked_ms, answer) => {
                if answer.is_none() {
                    self.instances[who].is_connected =
                        self.mutation == Some(Mutation::SilenceIsNotNoticed);
                }
                let asked_ms = asked(asked_ms);
                let answer = Input::Answer {
                    ask,
                    asked_ms,
                    answer,
                };
                self.input(who, answer);
            }
            Mail::Read(asked_ms, notice) => {
                self.instances[who].is_connected = true;
                let asked_ms = asked(asked_ms);
                self.input(who, Input::Read { asked_ms, notice });
            }
        }
    }

    fn read(&mut self, who: usize) {
        if self.engine.is_gone {
            self.instances[who].is_connected = self.mutation == Some(Mutation::SilenceIsNotNoticed);
            return;
        }
        let id = InstanceId::new(self.instances[who].id);
        let reading = self
            .engine
            .ledger
            .read(self.now - self.engine.behind_ms, id, 1_000);
        let notice = reading
            .messages
            .first()
            .map(|message: &Message| message.notice);
        let read = Mail::Read(self.clock(who), notice);
        self.instances[who].inbox.push(read);
    }

    fn call(&mut self, who: usize) {
        let (now, context) = (self.now, self.context(who));
        let instance = &mut self.instances[who];
        let looks = self.looks.contains(&who);
        if instance.is_hung || looks && instance.word.is_open(now) {
            return;
        }
        if instance.hangs && instance.word.is_due(now) {
            instance.word.hang(now);
            (instance.hangs, instance.is_hung) = (false, true);
            self.note_probe(who);
            return;
        }
        let is_up = self.is_up && !instance.is_sick;
        let is_awaited = instance.member.wants_rejections(context);
        match instance.word.call(now, is_up) {
            Some(made) => self.made(who, is_up, made),
            None if is_awaited => self.input(who, Input::Local(Local::Rejected)),
            None => {}
        }
    }

    /// The probe that hangs ends after all, with an outcome.
    pub(super) fn end_hung(&mut self, who: usize) {
        let (now, is_up) = (self.now, self.is_up);
        let instance = &mut self.instances[who];
        instance.is_hung = false;
        // Otherwise its outcome is out of date.
        if instance.word.is_probing() {
            let made = instance.word.report(now, is_up, true);
            self.made(who, is_up, made);
        }
    }

    fn made(&mut self, who: usize, is_up: bool, made: Made) {
        if made.is_probe {
            self.note_probe(who);
        }
        if !is_up {
            self.trips.push((who, self.now));
        }
        if let Some(local) = made.local {
            self.input(who, Input::Local(local));
            let follows = self.instances[who].member.period().is_some();
            if local == Local::Recovered && follows {
                self.wrong = Some("what a probe has found ends no period");
            }
        }
    }

    fn note_probe(&mut self, who: usize) {
        let Some(id) = self.instances[who].member.period() else {
            return;
        };
        if self.probes.0 != id.mark {
            self.probes = (id.mark, Vec::new());
        }
        if !self.probes.1.contains(&who) {
            self.probes.1.push(who);
        }
        if self.probes.1.len() > 1 && !self.may_probe_twice {
            self.wrong = Some("two instances have probed in one period");
        }
    }

    pub(super) fn context(&self, who: usize) -> Context {
        Context {
            now_ms: self.clock(who),
            is_connected: self.instances[who].is_connected,
            is_probing: self.instances[who].word.is_probing(),
            successes: 0,
        }
    }

    /// Returns whether every healthy instance that is alive is served; by then all faults have ended except those of
    /// sick instances and of probes that hang.
    pub(super) fn all_are_served(&self) -> bool {
        self.instances.iter().enumerate().all(|(who, instance)| {
            let makes_calls = !instance.is_dead && !instance.is_sick && !instance.is_hung;
            !makes_calls || self.idle.contains(&who) || instance.word.state == State::Closed
        })
    }
}
