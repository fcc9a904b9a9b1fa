# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares compiled functions with the specification, end by end.

    prove.py PROGRAM wide|narrow OPERATION[,..] [free=GROUP[,..]] [SETTING=NUMBER ..] [apart=NUMBER]
        [second=SECONDS]

`second` asks Z3 as well, for so long each time. `apart` says how far two ways may have parted and still become one where they meet: more makes fewer and harder questions.
"""

import sys
import time
from itertools import product

import loop
import looks
import state as states
from arrows import ADMITTED, CAUSES
from asked import ANY, ASKED, Asked, cases
from commands import Specification
from growth import Growth
from looks import LOOKS
from machine import ANSWER, CLOCK, RULES, WORD, Machine
from program import Program
from quotients import NANOS
from rules import GROUPS, Placed, Rules
from solvers import Z3, Bitwuzla, Unsure
from state import Fault
from terms import FALSE, TRUE, And, If, Not, Or, equal, extract, fresh, is_value, number, variable
from times import Times
from word import NARROW, WIDE, Word, wide

sys.setrecursionlimit(100_000)

REPORTS = (
    "success success_elsewhere failure slow tripping tripping_for retry_after ignored cancel drop attempt renew"
).split()
COMMANDS = "trip trip_for force_open release reset disable enable probe_now probe_early retire".split()
RESTORES = "restore restore_after restore_running".split()
OPERATIONS = ["acquire", *REPORTS, *COMMANDS, *RESTORES, *LOOKS]
WITH_TIME = ("tripping_for", "retry_after", "trip_for", "restore_after")
# They may open the breaker, for its own time.
OPENING = "success failure slow tripping tripping_for retry_after cancel drop attempt trip trip_for restore restore_after".split()
# How long the call took matters.
TIMED = ("success", "cancel", "drop")
# Their caller is told nothing.
SILENT = ("drop", "attempt")


class World:
    """What an operation meets beside the word."""

    # Whether the first reading of the clock matters in all turns.
    is_timed = False


class Proof:
    def __init__(self, program, layout, free=(), **fixed):
        self.program, self.layout = program, WIDE if layout == "wide" else NARROW
        self.solver = Bitwuzla()
        self.second, self.agreed, self.unsure = None, 0, 0
        self.rules = Rules(self.layout, free, **fixed)
        self.pointer = program.target.bits
        self.placed = Placed(lambda name, count: program.read(program.find(name), count))
        self.growth = Growth(program, self.solver, self.layout, self.rules, self.placed, self.lengths)
        times = Times(self.layout, self.rules, self.growth.after)
        self.specification = Specification(self.layout, self.rules, times)

    def cases(self, operation):
        """What is proved by itself: durations, and what is assumed of the rest. Together they are all there is."""
        durations = self.groups(operation in REPORTS) if operation in WITH_TIME else [ANY]
        return product(durations, self.calls(operation), self.open_times(operation))

    def groups(self, is_report):
        """Of milliseconds. A report asks for no longer pause than is allowed, beyond which nothing differs."""
        most, longest = self.layout.max_ms, self.rules.longest_retry
        if is_report and longest.op == "const":
            most = longest.args[0]
        limits = [*self.layout.lengths_ms(), most]
        if self.rules.open_ms.op == "const":
            limits.append(self.rules.open_ms.args[0])
        return cases(*[limit for limit in limits if limit <= most])

    def calls(self, operation):
        """Of a report that depends on how long the call took: it was slow by the first reading of the clock, was not, or was not
        measured; and of one that was dropped, whether it is a probe. Each is a proof of its own, as what is known from before
        the loop is otherwise forgotten in it where several ways led there."""
        if operation not in TIMED or is_value(self.rules.has_slow, 0):
            return [TRUE]
        call = World()
        call.started, call.clock = wide(variable("started", 32)), wide(variable(CLOCK, 32))
        granted = Word(self.layout, variable("granted", self.layout.bits))
        is_slow, is_measured = self.specification.is_slow(call), And(call.started != 0, self.rules.has_slow == 1)
        times = [is_slow, And(is_measured, Not(is_slow)), Not(is_measured)]
        is_probe = And(granted.is_half_open, granted.is_valid())
        probes = [TRUE] if operation == "success" else [is_probe, Not(is_probe)]
        return [And(*case) for case in product(times, probes)]

    def open_times(self, operation):
        """The open time that is set, by the length of its code."""
        if operation not in OPENING or self.rules.open_ms.is_constant:
            return [TRUE]
        return self.lengths(self.rules.open_ms)

    def lengths(self, ms):
        """The lengths of the code of an open time."""
        limits = [0, *(most + 1 for most in self.layout.lengths_ms() if most < self.layout.max_ms), self.layout.max_ms + 1]
        return [And(ms.uge(least), ms.ult(beyond)) for least, beyond in zip(limits, limits[1:])]

    def begin(self, operation, durations=ANY, call=TRUE, open_time=TRUE):
        """The state before the operation, and what it meets."""
        bits, world = self.layout.bits, World()
        free = {"granted": bits, "started": 32, "weight": 32, "seconds": 32, "millis": 10, "rest": 20}
        granted, started, weight, seconds, millis, rest = (variable(name, width) for name, width in free.items())
        arguments = {
            "state": [WORD, RULES],
            "still_counts": [WORD, RULES, granted, started],
            "is_valid": [variable("bits", bits)],
            "accepts": [RULES],
        }.get(operation, [WORD, RULES, ANSWER])
        if operation in REPORTS:
            arguments += [granted, started]
        if operation == "failure":
            arguments += [weight]
        if operation in WITH_TIME:
            arguments += [seconds, NANOS]
        runner = Machine(self.program, self.layout, self.solver)
        state = self.called(runner, f"p_{operation}", arguments)
        known = [self.rules.are_well_formed()]
        if operation != "accepts":
            known += [self.rules.are_accepted(), *self.growth.facts()]
            if self.growth.is_any:
                runner.stand_in(self.growth)
        known += [call, open_time]
        world.is_timed = call is not TRUE
        world.bits = variable("bits", bits)
        world.granted, world.started = Word(self.layout, granted), wide(started)
        world.weight = wide(weight & 0xFFFF)
        # Rounded up to a millisecond, as the pages have it, and down where they say so.
        is_more = FALSE if operation == "restore_after" else rest != 0
        world.time = self.specification.times.in_ms(wide(seconds), wide(millis), is_more)
        if operation in WITH_TIME:
            known += [millis.ult(1_000), rest.ult(1_000_000)]
            world.asked = runner.asked = Asked(self.solver, extract(world.time, 0, 32), durations)
            known += runner.asked.lies(runner.asked.right)
        if operation in (*REPORTS, "still_counts"):
            # Granted by a breaker: while it was closed, returning or disabled, or to a probe.
            known += [
                world.granted.is_valid(),
                Or(
                    world.granted.counts,
                    And(world.granted.is_half_open, world.granted.probes != 0),
                    world.granted.is_disabled,
                ),
            ]
        state.known = tuple(truth for truth in known if truth is not TRUE)
        # What does not change in the loop.
        world.lasting = {*free, ASKED, CLOCK, *self.growth.names}
        for raw in self.rules.raw.values():
            world.lasting |= raw.variables
        return runner, state, world

    def called(self, runner, name, arguments):
        """The state in which a function is called, with the rules in memory."""
        state = runner.start(name, arguments)
        plain, placed = self.rules.in_memory(self.placed)
        for k, byte in enumerate(plain):
            state.memory.write(RULES + k, number(byte, 8))
        for at, raw in placed.items():
            state.memory.write(RULES + at, raw)
        return state

    def prove_growth(self, target=""):
        """That the function that computes it returns what the pages say."""
        begun, runner = time.time(), Machine(self.program, self.layout, self.solver)
        ends, wrong = self.growth.compare(runner, lambda name, *more: self.called(runner, name, [RULES + self.growth.begin, *more]))
        for steps in wrong[:3]:
            print(f"    not shown to be the open time after {steps} steps")
        return self.report("growth", target, begun, ends, 0, runner.most_steps, not wrong)

    def answer(self, state, field):
        """A field of `Answer`, by its place behind `granted`."""
        return state.memory.read(ANSWER + self.layout.bits // 8 + 4 * field, 4)

    def shown(self, state, field):
        """A field of `Shown`."""
        return wide(state.memory.read(ANSWER + 4 * field, 4))

    def granted(self, state):
        return state.memory.read(ANSWER, self.layout.bits // 8)

    def returned(self, state):
        offset, _ = self.program.registers[self.program.target.answer]
        return state.registers.read(offset, 4)

    def obligations(self, operation, state, world, is_cut=False):
        """What must hold at an end, by name, and the word before and after. At a cut only what was healed before."""
        can = lambda *more: self.solver.satisfiable([*state.known, *more])
        must = []
        seen, since, done, healed = None, -1, None, False
        for at, event in enumerate(state.events):
            if event.kind == "load":
                seen, since, healed = event.values[0], at, False
            elif event.kind == "exchange":
                expected, new = event.values
                before = Word(self.layout, expected)
                if not can(before.is_valid()):
                    fresh_word = self.specification.enter(before, 0)
                    must.append(("a damaged word is replaced by a fresh one", equal(new, fresh_word)))
                    seen, since, healed = new, at, True
                    continue
                if done:
                    must.append(("one exchange succeeds at most", FALSE))
                must.append(("a damaged word is healed first", before.is_valid()))
                done = (expected, new, since)
        if is_cut:
            if done:
                must.append(("nothing has been done before another turn", FALSE))
            return must, None, None
        if done:
            before, after, since = done
        else:
            before = after = seen if seen is not None else fresh("any", self.layout.bits)
        self.meet(world, state.events, since, healed)
        world.ms = wide(world.asked.asked) if state.is_asked else world.time
        a, b = Word(self.layout, before), Word(self.layout, after)
        if operation == "acquire" and not done:
            # A damaged word that looks closed passes, as two loads are all that the closed path does; what changes it
            # next heals it.
            passes = And(Not(a.is_valid()), a.is_closed)
            must.append(("a damaged word passes only if it looks closed", Or(a.is_valid(), a.is_closed)))
            when = a.is_valid()
            must.append(("admitted if it looks closed", Or(Not(passes), self.returned(state) == 1)))
        elif not done:
            # A report of a permit that needs nothing of the word does not look at it closely.
            when = a.is_valid() if seen is not None else TRUE
        else:
            when = TRUE
        name = "p_trip" if operation == "trip" else operation
        for case in getattr(self.specification, name)(a, world):
            effects = [*self.same_word(b.word, case.word), *self.told(operation, state, world, case, a, b)]
            must.append((f"case {case.cause or 'within the epoch'}", (And(when, case.when), effects)))
        return must, a, b

    def same_word(self, one, other):
        """Field by field, which is easier to show."""
        for name in ("state", "trips", "code", "demanded", "time", "epoch"):
            low, width = self.layout.fields[name]
            yield equal(extract(one, low, width), extract(other, low, width))

    def meet(self, world, events, since, healed):
        """The readings that this turn of the loop made."""

        def readings(kind, begin=-1):
            return [wide(event.values[0]) for at, event in enumerate(events) if event.kind == kind and at > begin]

        now = readings("now", since)
        if healed:
            # Healing reads the clock for its notice.
            now = now[1:]
        any_now = wide(fresh("not_read", 32))
        world.now = now[0] if now else any_now
        world.later = now[-1] if now else any_now
        world.clock = (readings("now") or [any_now])[0]
        chance = readings("random", since)
        entropy = readings("entropy", since)
        world.random = chance[-1] if chance else wide(fresh("not_drawn", 32))
        world.dice = world.random ^ (entropy[-1] if entropy else wide(fresh("not_drawn", 32)))
        world.first = next((event.values[0] for event in events if event.kind == "load"), None)

    def told(self, operation, state, world, case, a, b):
        """What the caller learns."""
        returned = wide(self.returned(state))
        started = If(world.later == 0, number(1), world.later)
        if operation == "acquire":
            if case.answer == ADMITTED:
                measured = If(self.rules.has_slow == 1, started, number(0))
                return [returned == 1, equal(self.granted(state), b.word), wide(self.answer(state, 0)) == measured]
            _, kind, wait = case.answer
            return [returned == 0, wide(self.answer(state, 1)) == kind, wide(self.answer(state, 2)) == wait]
        if operation == "renew":
            _, is_renewed = case.answer
            measured = If(world.started == 0, number(0), started)
            told = [returned == int(is_renewed)]
            if is_renewed:
                told += [equal(self.granted(state), b.word), wide(self.answer(state, 0)) == measured]
            return told
        if operation in SILENT:
            return [returned == 0]
        if operation == "retire":
            return [returned == int(case.cause is not None)]
        transition = [returned == 0] if case.cause is None else self.transition(state, world, case, a, b)
        if operation in RESTORES:
            first = Word(self.layout, world.first)
            return [If(first.is_valid(), And(*transition), returned == 2)]
        return transition

    def transition(self, state, world, case, a, b):
        times = self.specification.times
        left = times.left(times.stamp(world.now), b.time, b.open_for) << self.layout.tick_log2
        fields = [CAUSES.index(case.cause), a.kind, b.kind, b.epoch, b.trips]
        told = [wide(self.answer(state, 3 + k)) == value for k, value in enumerate(fields)]
        rest = And(
            wide(self.answer(state, 8)) == If(b.is_open, left, number(0)), wide(self.answer(state, 9)) == world.now
        )
        if self.pointer == 32:
            # The time of a transition is put together from a later reading, less than half an hour later.
            since = (world.later - world.now + (1 << 21)) & 0xFFFF_FFFF
            rest = Or(since.uge(1 << 22), rest)
        return [wide(self.returned(state)) == 1, *told, rest]

    def check(self, operation, state, world, is_cut=False):
        """What does not hold at an end: names, with an example."""
        failed = []
        if operation in LOOKS:
            must, a, b = looks.obligations(self, operation, state, world), None, None
        else:
            must, a, b = self.obligations(operation, state, world, is_cut)
        for name, condition in must:
            when, effects = condition if isinstance(condition, tuple) else (TRUE, [condition])
            if not self.solver.possible([*state.known, when]):
                continue
            for effect in effects:
                if effect is TRUE:
                    continue
                if not self.holds([*state.known, when], effect):
                    failed.append((name, self.example(state, world, a, b)))
                    break
        return failed

    def holds(self, known, effect):
        """Whether an effect follows; a second solver, if there is one, must agree."""
        counter = [*known, Not(effect)]
        if self.solver.satisfiable(counter):
            return False
        if self.second:
            try:
                if self.second.satisfiable(counter):
                    raise Fault("the solvers contradict each other")
                self.agreed += 1
            except Unsure:
                self.unsure += 1
        return True

    def example(self, state, world, a, b):
        """Numbers for which it does not hold."""
        values = {"now": world.now, "clock": world.clock, "granted": world.granted.word} if a is not None else {}
        values |= {"old": a.word, "new": b.word} if a is not None else {}
        values |= {"started": world.started, "ms": getattr(world, "ms", number(0)), "weight": world.weight, "returned": self.returned(state)}
        values |= {name: raw for name, raw in self.rules.raw.items() if not raw.is_constant}
        values |= {f"answer{k}": self.answer(state, k) for k in range(10)}
        told = dict(zip(values, self.solver.model(list(values.values()))))
        kinds = " ".join(event.kind for event in state.events)
        return " ".join(f"{name}={value:#x}" for name, value in told.items()) + f" [{kinds}]"

    def prove(self, operation, target=""):
        begun = time.time()
        count, turn_count, steps, failed, errors = 0, 0, 0, [], []
        for case in self.cases(operation):
            runner, state, world = self.begin(operation, *case)
            turns = loop.Turns(runner, world.lasting, world.is_timed)
            try:
                for end in turns.ends(state):
                    count += 1
                    failed += self.check(operation, end, world)
                    if len(failed) > 2:
                        break
                for cut in turns.cut:
                    failed += self.check(operation, cut, world, is_cut=True)
            except Fault as fault:
                runner.errors.append(str(fault))
            turn_count, steps = turn_count + turns.count, max(steps, runner.most_steps)
            errors += runner.errors
            if failed:
                break
        for error in errors[:3]:
            print(f"    {error}")
        for name, example in failed[:3]:
            print(f"    {name}: {example}")
        is_equal = bool(count) and not failed and not errors
        return self.report(operation, target, begun, count, turn_count, steps, is_equal)

    def report(self, operation, target, begun, ends, turns, steps, is_equal):
        verdict = "equal" if is_equal else "NOT EQUAL"
        seconds = time.time() - begun
        print(
            f"{target:12} {operation:18} {ends:3} ends {turns:3} turns {steps:5} instructions {seconds:6.1f} s  {verdict}",
            flush=True,
        )
        if self.second:
            print(f"{'':31} Z3 agrees {self.agreed} times, gives up {self.unsure} times", flush=True)
        return is_equal


def main():
    path, layout, operations, *options = sys.argv[1:]
    named = dict(option.split("=") for option in options)
    target, free = named.pop("name", layout), named.pop("free", "")
    free = list(GROUPS) if free == "all" else [group for group in free.split(",") if group]
    states.MOST_APART = int(named.pop("apart", states.MOST_APART))
    second = named.pop("second", "")
    fixed = {name: int(value, 0) for name, value in named.items()}
    proof = Proof(Program(path), layout, free, **fixed)
    if second:
        proof.second = Z3(int(second))
    operations = OPERATIONS if operations == "all" else operations.split(",")
    results = [proof.prove_growth(target) if operation == "growth" else proof.prove(operation, target) for operation in operations]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
