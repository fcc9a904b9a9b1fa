# SPDX-License-Identifier: MIT OR Apache-2.0
"""The specification beside the reference, which somebody else wrote from the documentation alone: random histories, whose
steps must have the same answers, transitions, and visible state in both.

    second_author.py [HISTORIES]           by default 1,000, of words of both widths: 3 min
    second_author.py faults [HISTORIES]    faults in the specification, each of which must be found

The histories come from tests/tests/sequences/recorded.rs, where the real breaker answers as the reference does. Each run
draws others; SEED=... repeats one.
"""

import collections
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types

from author_faults import FAULTS

HERE = pathlib.Path(__file__).resolve().parent
MODULES = "terms word rules times arrows commands".split()
OPERATIONS = (
    "acquire success success_elsewhere failure slow tripping tripping_for retry_after ignored cancel drop attempt renew trip "
    "trip_for force_open release reset disable enable probe_now probe_early retire restore restore_after restore_running"
).split()
# Only breakers with a tally, and words that no breaker has written, have these.
NO_CAUSES = {"FailureRatio", "SlowRatio", "CorruptWord"}
RETURNING_ROW = "a row that must last while traffic returns"
SITUATIONS = ["a late demand", "a lost round that succeeded", RETURNING_ROW]
WIDTHS = (64, 32)


class Difference(Exception): ...


def specification(fault=None):
    """The modules of the specification, with a fault if asked; nothing if its text does not stand there once."""
    for name in MODULES:
        text = (HERE / f"{name}.py").read_text()
        if fault and fault[0] == name:
            if text.count(fault[1]) != 1:
                return None
            text = text.replace(*fault[1:])
        module = sys.modules[name] = types.ModuleType(name)
        exec(compile(text, f"{name}.py", "exec"), module.__dict__)
    kept = dict(sys.modules["terms"]._terms)
    return types.SimpleNamespace(**{name: sys.modules[name] for name in MODULES}, kept=kept)


class Player:
    """A word that only the specification changes, and the permits that it has granted."""

    def __init__(self, spec, history, seen):
        self.spec, self.seen, self.bits, self.number = spec, seen, history["bits"], spec.terms.number
        self.layout = copy.copy(spec.word.WIDE if self.bits == 64 else spec.word.NARROW)
        # A tick may have another length than by default.
        self.layout.tick_log2 = history["tick"].bit_length() - 1
        self.layout.max_ms = self.layout.max_ticks << self.layout.tick_log2
        self.sets = [self.machine(settings) for settings in history["rules"]]
        self.rules, self.machine_now = self.sets[0]
        self.word, self.permits = spec.terms.number(0, self.bits), {}

    def machine(self, settings):
        """The rules as the specification has them."""
        raw = dict(settings)
        percent = raw.pop("percent")
        raw |= {"growth": int(percent > 0), "factor": -(-percent * 256 // 100), "has_lease": 1, "has_close": 1}
        # Without a seed chance decides, which is the seed here. As many successes as probes are the default.
        raw["has_seed"] = raw["seed"] & 1
        if raw["close"] == raw["probes"] and raw["seed"] & 2:
            raw["has_close"], raw["close"] = 0, 0xFFFF
        raw |= {f"has_{flag}": int(f"{flag}_ms" in raw) for flag in ("retry", "slow")}
        raw["has_return"] = int("over_ms" in raw)
        dice, raw["seed"] = raw["seed"], raw["seed"] if raw["has_seed"] else 0
        rules = self.spec.rules.Rules(self.layout, **raw)
        self.compare("rules accepted", rules.are_accepted().value, 1)
        rules.dice = self.number(dice)
        times = self.spec.times.Times(self.layout, rules, lambda steps: rules.grown(steps.value))
        return rules, self.spec.commands.Specification(self.layout, rules, times)

    @staticmethod
    def compare(name, mine, others):
        if mine != others:
            raise Difference(f"{name}: the specification has {mine}, the reference {others}")

    def step(self, step, at):
        """Does what a step says, and compares."""
        name = step["do"]
        if name == "rules":
            self.rules, self.machine_now = self.sets[step["number"]]
        x = types.SimpleNamespace(dice=self.rules.dice, random=self.number(step.get("dice", 0)))
        x.now = x.clock = self.number(step["now"])
        x.ms = x.weight = self.number(step.get("number", 0))
        if "token" in step:
            granted, started = self.permits[step["token"]]
            x.granted, x.started = self.spec.word.Word(self.layout, granted), self.number(started)
        a = self.spec.word.Word(self.layout, self.word)
        if name not in ("look", "rules"):
            if name == "cancel" and at % 2:
                name = "drop"
            self.operate(name, step, a, x)
            self.seen[self.bits, name] += 1
        self.look(step, x)

    def operate(self, name, step, a, x):
        spec, machine = self.spec, self.machine_now
        if "counts" in step:
            self.compare("still counts", bool(machine.still_counts(a, x).value), step["counts"])
        cases = getattr(machine, "p_trip" if name == "trip" else name)(a, x)
        cases = [case for case in cases if case.when.value]
        self.compare("cases that apply", len(cases), 1)
        [case] = cases
        self.word = case.word
        b = spec.word.Word(self.layout, case.word)
        self.compare("valid words", b.is_valid().value, 1)

        # What the caller is told.
        started = max(step["now"], 1)
        if name == "acquire":
            wait = None if case.answer[0] == "admitted" else case.answer[2].value
            self.compare("rejected", wait, step.get("rejected"))
            if wait is None:
                self.permits[step["admitted"]] = case.word, started if self.rules.has_slow.value else 0
            else:
                self.compare("rejected while", case.answer[1], step["seen"][1])
        elif name == "renew":
            self.compare("renewed", case.answer[1], step["renewed"])
            if step["renewed"]:
                self.permits[step["token"]] = case.word, started if x.started.value else 0
        elif name == "retire":
            self.compare("freed", case.cause is not None, step["freed"])
        elif "token" in step:
            del self.permits[step["token"]]

        # What observers are told.
        notice = None
        if case.cause is not None and name != "retire":
            times = machine.times
            left = times.left(times.stamp(x.now), b.time, b.open_for).value << self.layout.tick_log2
            notice = [a.kind.value, b.kind.value, b.trips.value, left if b.is_open.value else 0]
            self.compare("cause", case.cause, step.get("cause"))
            self.seen[self.bits, case.cause] += 1
        if name != "retire":
            self.compare("told", notice, step.get("told"))
        if name in ("tripping_for", "retry_after") and notice is None and a.is_open.value and self.word is not a.word:
            self.seen[self.bits, "a late demand"] += 1
        if name.startswith("success") and not step["counts"] and b.word is not a.word:
            self.seen[self.bits, "a lost round that succeeded"] += 1

    def look(self, step, x):
        """What the word shows."""
        a, machine = self.spec.word.Word(self.layout, self.word), self.machine_now
        zero, If = self.number(0), self.spec.terms.If
        has_reached = machine.times.has_reached(a)
        counted = If(a.counts, If(has_reached, self.rules.failures, a.payload), zero)
        probes, successes = (If(a.is_half_open, count, zero) for count in (a.probes, a.successes))
        open_for = If(a.is_open, a.open_for << self.layout.tick_log2, zero)
        seen = [machine.state(a, x), a.kind, a.epoch, a.trips, a.time, counted, probes, successes, a.rounds, open_for]
        seen = [*(field.value for field in seen), a.is_open.value & a.demanded.value, machine.waits(a, x).value]
        # Epochs and times of the reference never wrap.
        for at, field in ((2, "epoch"), (4, "time")):
            step["seen"][at] &= self.layout.max[field]
        self.compare("seen", seen, step["seen"])
        self.seen[self.bits, RETURNING_ROW] += has_reached.value & a.counts.value


def play(spec, line, seen):
    """Plays a history. Returns how many steps it has, and the first difference."""
    history, at = json.loads(line), -1
    try:
        player = Player(spec, history, seen)
        for at, step in enumerate(history["steps"]):
            player.step(step, at)
    except Difference as error:
        steps = "\n  ".join(json.dumps(step) for step in history["steps"][max(at - 3, 0) : at + 1])
        return at, f"step {at}: {error}\n  rules {json.dumps(history['rules'])}\n  {steps}"
    finally:
        # Terms are kept by their value; those of a history are of no use to the next one.
        spec.terms._terms.clear()
        spec.terms._terms.update(spec.kept)
    return len(history["steps"]), None


def recorded(count, seed):
    """The lines of so many histories, as they are written down."""
    (read, write), log = os.pipe(), tempfile.TemporaryFile("w+")
    asked = {"ATOMIC_BREAKER_HISTORIES_TO": f"/dev/fd/{write}", "ATOMIC_BREAKER_HISTORIES": str(count)}
    command = "cargo test -q --locked -p tests --test sequences -- --ignored histories_are_recorded_for_the_specification"
    recorder = subprocess.Popen(
        command.split(), cwd=HERE / "../..", env=os.environ | asked | {"BREAKER_SEED": str(seed)}, pass_fds=[write],
        stdout=log, stderr=subprocess.STDOUT,
    )  # fmt: skip
    os.close(write)
    lines = 0
    with open(read) as histories:
        for lines, line in enumerate(histories, 1):
            yield line
    if recorder.wait() or lines != count:
        log.seek(0)
        sys.exit(f"{log.read()}second_author.py: {lines} of {count} histories")


def compare(count, seed):
    begun, spec, seen = time.time(), specification(), collections.Counter()
    steps = differences = 0
    for number, line in enumerate(recorded(count, seed)):
        played, difference = play(spec, line, seen)
        steps += played
        if difference:
            differences += 1
            if differences <= 5:
                print(f"history {number}: {difference}", flush=True)
    wanted = [*OPERATIONS, *(cause for cause in spec.arrows.CAUSES if cause not in NO_CAUSES), *SITUATIONS]
    times_seen = {name: [seen[bits, name] for bits in WIDTHS] for name in wanted}
    print("wide/narrow: " + ", ".join(f"{name} {'/'.join(map(str, times))}" for name, times in times_seen.items()))
    missed = [name for name, times in times_seen.items() if not all(times)]
    if missed:
        print(f"never seen: {', '.join(missed)}")
    print(f"{count} histories, {steps} steps, {differences} differ, {time.time() - begun:.0f} s, SEED={seed}")
    return differences or missed


def find(count, seed):
    lines, missed = list(recorded(count, seed)), 0
    for fault in FAULTS:
        begun, spec, seen = time.time(), specification(fault), collections.Counter()
        found = next((at for at, line in enumerate(lines) if spec and play(spec, line, seen)[1]), None)
        missed += found is None
        where = f"found in history {found}" if found is not None else "NOT FOUND" if spec else "NOT THERE ONCE"
        print(f"{fault[0]}.py: {fault[1]!r} -> {fault[2]!r}: {where}, {time.time() - begun:.1f} s", flush=True)
    print(f"{len(FAULTS)} faults, {missed} not found, SEED={seed}")
    return missed


def main(arguments):
    seed = int(os.environ.get("SEED") or time.time_ns())
    print(f"SEED={seed}", flush=True)
    if arguments[:1] == ["faults"]:
        return find(int(arguments[1]) if arguments[1:] else 600, seed)
    return compare(int(arguments[0]) if arguments else 1_000, seed)


if __name__ == "__main__":
    sys.exit(bool(main(sys.argv[1:])))
