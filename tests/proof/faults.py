# SPDX-License-Identifier: MIT OR Apache-2.0
"""Faults for `seeded`: in the code of the core, where `CHOSEN` is 1 if the fault is chosen and 0 otherwise, and in the
specification.
"""

from collections import namedtuple

# `rules` are settings, and `free` groups of them, under which the fault shows; `hidden` says why no operation shows it.
Fault = namedtuple("Fault", "name file old new operation rules free layout hidden", defaults=[{}, (), "wide", None])
OfSpecification = namedtuple("OfSpecification", "module old new operation settings", defaults=[()])

LASTING = {"rule": 1, "time_ms": 100}
WITHIN = {"rule": 2, "time_ms": 1_000}
RETURN = {"has_return": 1, "over_ms": 5_000, "first_percent": 20}
SLOW = {"has_slow": 1, "slow_ms": 300}

FAULTS = [
    # The word.
    Fault("an epoch stays", "circuit.rs", "(self.epoch() + 1) &", "(self.epoch() + 1 - CHOSEN) &", "reset"),
    Fault(
        "a word is taken for valid",
        "word/peek.rs",
        "layout.open_for.get(bits) <= longest",
        "layout.open_for.get(bits) <= longest + CHOSEN",
        "reset",
    ),
    Fault(
        "another code of the open time",
        "circuit.rs",
        "(self.set(B::LAYOUT.open_for, code), stored)",
        "(self.set(B::LAYOUT.open_for, code + CHOSEN), stored)",
        "trip",
    ),
    Fault(
        "fewer lost rounds",
        "circuit.rs",
        "lost.min(layout.max_lost) - 1",
        "lost.min(layout.max_lost - CHOSEN) - 1",
        "acquire",
    ),
    # Times.
    Fault(
        "a tick too early",
        "time.rs",
        "(wait + Self::GUARD).saturating_sub(age)",
        "(wait + Self::GUARD).saturating_sub(age + CHOSEN)",
        "retire",
    ),
    Fault(
        "a wider guard band", "time.rs", "age > Self::MASK - Self::GUARD", "age > Self::MASK - Self::GUARD - CHOSEN", "cancel"
    ),
    Fault(
        "a narrower guard band",
        "time.rs",
        "age >= ticks + Self::GUARD",
        "age.wrapping_add(CHOSEN) & Self::MASK >= ticks + Self::GUARD",
        "failure",
        LASTING,
    ),
    Fault(
        "readings rounded down",
        "time.rs",
        "(now_ms.wrapping_add(Self::BELOW_A_TICK) >>",
        "(now_ms.wrapping_add(Self::BELOW_A_TICK * (1 - CHOSEN)) >>",
        "renew",
        layout="narrow",
    ),
    Fault(
        "durations rounded down",
        "time.rs",
        "u32::from(ms & Self::BELOW_A_TICK != 0)",
        "u32::from(ms & Self::BELOW_A_TICK != 0 && CHOSEN == 0)",
        "cancel",
        layout="narrow",
    ),
    # Who may report.
    Fault(
        "a permit of another epoch",
        "machine/report.rs",
        "if !circuit.bits().is_same_epoch(granted) {",
        "if CHOSEN == 0 && !circuit.bits().is_same_epoch(granted) {",
        "renew",
    ),
    Fault(
        "a probe of another time",
        "machine/report.rs",
        "circuit.counts_failures() || circuit.is_same_time(granted) {",
        "circuit.counts_failures() || circuit.is_same_time(granted) || CHOSEN == 1 {",
        "renew",
    ),
    Fault(
        "a permit of long ago for the one before",
        "machine/report.rs",
        "&& circuit.trips() == trips",
        "&& (circuit.trips() == trips || CHOSEN == 1)",
        "retry_after",
    ),
    # Opening.
    Fault(
        "trips saturate early",
        "machine/open.rs",
        "let trips = (circuit.trips() + 1).min(B::LAYOUT.trips.max());",
        "let trips = (circuit.trips() + 1).min(B::LAYOUT.trips.max() - CHOSEN);",
        "trip",
    ),
    Fault(
        "a demand is not marked",
        "machine/open.rs",
        ".with_demanded(shortest_ms > 0);",
        ".with_demanded(shortest_ms > 0 && CHOSEN == 0);",
        "tripping_for",
    ),
    # Half-open.
    Fault(
        "a slot too many",
        "machine/probe.rs",
        "needed.min(self.config.probes.into())",
        "needed.min(self.config.probes.into()) + CHOSEN",
        "acquire",
    ),
    Fault(
        "a lease that does not double",
        "machine/probe.rs",
        "if lease_ms > most_ms >> lost {",
        "let lost = lost * (1 - CHOSEN);\n        if lease_ms > most_ms >> lost {",
        "acquire",
    ),
    Fault(
        "another cancel limit",
        "machine/probe.rs",
        "B::age(now.ms(), admitted) >= limit",
        "B::age(now.ms(), admitted) >= limit + CHOSEN",
        "cancel",
    ),
    # Reports.
    Fault(
        "a success that does not clear",
        "short_way.rs",
        "(circuit.failures() != 0).then(|| Machine::cleared(circuit))",
        "(circuit.failures() != 0).then(|| if CHOSEN == 1 { circuit } else { Machine::cleared(circuit) })",
        "success",
    ),
    Fault(
        "a window that begins earlier",
        "machine/report.rs",
        "circuit.with_failures(weight).with_time(B::stamp(now.ms()))",
        "circuit.with_failures(weight).with_time(B::earlier(B::stamp(now.ms()), CHOSEN))",
        "failure",
        WITHIN,
    ),
    Fault(
        "a row that lasts at once",
        "machine/lasting.rs",
        "(failures < limit || !has_lasted).then_some(counted)",
        "(failures < limit || !has_lasted && CHOSEN == 0).then_some(counted)",
        "failure",
        LASTING,
    ),
    Fault(
        "the time of a return is lost",
        "machine/lasting.rs",
        "&& circuit.failures() >= Self::HAS_REACHED\n",
        "&& circuit.failures() >= Self::HAS_REACHED && CHOSEN == 0\n",
        "success",
        LASTING | RETURN,
    ),
    Fault(
        "trips are kept too briefly",
        "machine/returning.rs",
        "B::ticks(over_ms.max(kept_ms))",
        "B::ticks(over_ms.max(kept_ms) - CHOSEN)",
        "acquire",
        RETURN,
    ),
    Fault("another slow limit", "slow.rs", "took >= limit &&", "took >= limit + CHOSEN &&", "success", SLOW),
    Fault("a dropped attempt is nothing", "permit.rs", "        if FAILS_WHEN_DROPPED {\n", "        if FAILS_WHEN_DROPPED && CHOSEN == 0 {\n", "attempt"),
    Fault(
        "renewed while closed",
        "acquire.rs",
        "if holds && circuit.is_half_open() {",
        "if holds && (circuit.is_half_open() || CHOSEN == 1) {",
        "renew",
    ),
    # Commands.
    Fault(
        "held twice is released",
        "machine/control.rs",
        "Command::Release if circuit.is_held_twice() =>",
        "Command::Release if circuit.is_held_twice() && CHOSEN == 0 =>",
        "release",
    ),
    Fault(
        "probed in spite of a demand",
        "machine/control.rs",
        "if !circuit.is_demanded() =>",
        "if !circuit.is_demanded() || CHOSEN == 1 =>",
        "probe_early",
    ),
    Fault(
        "retired while it waits",
        "control.rs",
        "machine.wait(circuit, now.ms()).is_none();",
        "(machine.wait(circuit, now.ms()).is_none() || CHOSEN == 1);",
        "retire",
    ),
    # Words that outlived their users.
    Fault("restored for longer", "machine/restore.rs", "=> stored / 2,", "=> stored / 2 + CHOSEN,", "restore"),
    Fault(
        "a sleep counts for less",
        "machine/restore.rs",
        "lasted.saturating_sub(least.max(ms >> B::SHIFT))",
        "lasted.saturating_sub(least.max((ms >> B::SHIFT) - CHOSEN))",
        "restore_after",
    ),
    Fault(
        "a probe in flight is kept",
        "machine/restore.rs",
        ".with_probes(0, circuit.successes())",
        ".with_probes(CHOSEN, circuit.successes())",
        "restore_running",
    ),
    # What is told.
    Fault("another number of trips", "applied.rs", "next.trips() as u8", "(next.trips() + CHOSEN) as u8", "force_open"),
    Fault("another epoch", "applied.rs", "next.epoch() as u16", "(next.epoch() ^ CHOSEN) as u16", "disable"),
    Fault(
        "another cause",
        "machine/report.rs",
        "Cause::FailureLimit | Cause::FailureRatio if shortest_ms > 0 =>",
        "Cause::FailureLimit | Cause::FailureRatio if shortest_ms > 0 && CHOSEN == 0 =>",
        "retry_after",
    ),
    Fault(
        "another state before",
        "apply.rs",
        "Some(cause) => Applied::transition(circuit, next, cause, now.ms()),",
        "Some(cause) => Applied::transition(if CHOSEN == 1 { next } else { circuit }, next, cause, now.ms()),",
        "enable",
    ),
    # The loop. Each of these leaves the last line as it is, for the next one.
    Fault(
        "a lost exchange is taken for won",
        "apply.rs",
        "Err(found) => seen = found,",
        "Err(_) if CHOSEN == 1 => return Applied::nothing(next.bits()),\nErr(found) => seen = found,",
        "reset",
    ),
    Fault(
        "a word of the turn before",
        "apply.rs",
        "Err(found) => seen = found,",
        "Err(found) if CHOSEN == 1 && self.exchange(found, next).is_ok() => return Applied::nothing(next.bits()),\n"
        "Err(found) => seen = found,",
        "release",
    ),
    Fault(
        "an exchange tried again as it was",
        "apply.rs",
        "Err(found) => seen = found,",
        "Err(_) if CHOSEN == 1 => {}\nErr(found) => seen = found,",
        "reset",
        hidden="it stores only if the word is as it was again, so it does what it should or never ends",
    ),
]

OF_SPECIFICATION = [
    OfSpecification("arrows", "time, a.epoch + 1)", "time, a.epoch + 2)", "reset"),
    OfSpecification("arrows", "Or(a.counts, a.time == granted.time, many)", "TRUE", "renew"),
    OfSpecification("commands", "FORCED_OVER_DISABLED = 1, 2, 3, 4", "FORCED_OVER_DISABLED = 1, 2, 4, 3", "force_open"),
    # With settings that may be any.
    OfSpecification("arrows", "took.uge(self.rules.slow_ms)", "took.ugt(self.rules.slow_ms)", "success", ("has_slow=1", "free=slow")),
    OfSpecification("arrows", "cancel_ms)\n", "cancel_ms + 1)\n", "drop", ("has_slow=1", "free=slow,cancel")),
    OfSpecification(
        "arrows",
        "(more * time).uge(limit * since)",
        "(more * time).ugt(limit * since)",
        "failure",
        ("rule=2", "has_return=1", "free=trip,return"),
    ),
    OfSpecification(
        "arrows", "(x.random * over).ult(first", "(x.random * over).ule(first", "acquire", ("has_return=1", "free=return")
    ),
    OfSpecification("times", "return self.rules.open_ms\n", "return self.rules.open_ms + 1\n", "trip", ("free=open",)),
    OfSpecification("times", "lshr(ticks * part, 32)", "lshr(ticks * part, 33)", "trip", ("jitter=10",)),
]
