# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares compiled functions with the specification, path by path.

    prove.py PROGRAM wide|narrow OPERATION[,..] [free=GROUP[,..]] [SETTING=NUMBER ..]
"""

import sys
import time

import claripy
from claripy import And, If, Not, Or

import loop
from arrows import ADMITTED, CAUSES
from commands import Specification
from machine import ANSWER, RULES, WORD, Program, explore, fresh
from rules import GROUPS, Rules
from times import Times
from word import Word, most, number, wide

REPORTS = (
    "success success_elsewhere failure slow tripping tripping_for retry_after ignored cancel drop attempt renew"
).split()
COMMANDS = "trip trip_for force_open release reset disable enable probe_now probe_early retire".split()
RESTORES = "restore restore_after restore_running".split()
OPERATIONS = ["acquire", *REPORTS, *COMMANDS, *RESTORES]
WITH_MS = ("tripping_for", "retry_after", "trip_for", "restore_after")
# Their caller is told nothing.
SILENT = ("drop", "attempt")


class World:
    """What an operation meets beside the word."""


class Proof:
    def __init__(self, program, free=(), **fixed):
        self.program, self.layout = program, program.layout
        self.rules = Rules(self.layout, free, **fixed)
        times = Times(self.layout, self.rules, self.grown)
        self.specification = Specification(self.layout, self.rules, times)

    def grown(self, steps):
        result = self.rules.grown(self.layout.max["trips"] - 1)
        for k in reversed(range(self.layout.max["trips"] - 1)):
            result = If(steps == k, self.rules.grown(k), result)
        return result

    def begin(self, operation):
        """The state before the operation, and what it meets."""
        bits, world = self.layout.bits, World()
        granted, started, argument = (
            claripy.BVS(name, width, explicit_name=True)
            for name, width in (("granted", bits), ("started", 32), ("argument", 32))
        )
        arguments = [WORD, RULES, ANSWER]
        if operation in REPORTS:
            arguments += [granted, started]
        if operation in WITH_MS or operation == "failure":
            arguments += [argument]
        state = self.program.start(f"p_{operation}", arguments, self.rules)
        world.granted, world.started = Word(self.layout, granted), wide(started)
        world.weight, world.ms = wide(argument & 0xFFFF), wide(argument)
        if operation in REPORTS:
            # Granted by a breaker: while it was closed, returning or disabled, or to a probe.
            state.solver.add(
                world.granted.is_valid(),
                Or(
                    world.granted.counts,
                    And(world.granted.is_half_open, world.granted.probes != 0),
                    world.granted.is_disabled,
                ),
            )
        world.top = state.regs.sp
        # What does not change in the loop.
        world.lasting = granted.variables | started.variables | argument.variables
        for raw in self.rules.raw.values():
            world.lasting |= raw.variables
        return state, world

    def answer(self, state, field):
        """A field of `Answer`, by its place behind `granted`."""
        at = ANSWER + self.layout.bits // 8 + 4 * field
        return self.peek(state, at, 4)

    def granted(self, state):
        return self.peek(state, ANSWER, self.layout.bits // 8)

    @staticmethod
    def peek(state, at, count):
        return state.memory.load(at, count, endness="Iend_LE", inspect=False, disable_actions=True)

    def obligations(self, operation, state, world):
        """What must hold on a path, by name, and the word before and after."""
        solver, events = state.solver, state.globals["events"]
        must = []
        seen, since, done, healed = None, -1, None, False
        for at, event in enumerate(events):
            if event.kind == "plain store":
                must.append(("the word is changed by exchanges only", claripy.false()))
            elif event.kind in ("load", "linked"):
                seen, since, healed = event.values[0], at, False
            elif event.kind == "exchange":
                expected, new, succeeds, found = event.values
                if not solver.satisfiable(extra_constraints=[succeeds]):
                    seen, since, healed = found, at, False
                    continue
                if solver.satisfiable(extra_constraints=[Not(succeeds)]):
                    must.append(("the result of an exchange is looked at", claripy.false()))
                before = Word(self.layout, expected)
                if not solver.satisfiable(extra_constraints=[before.is_valid()]):
                    must.append(("a damaged word is replaced by a fresh one", new == self.specification.enter(before, 0)))
                    seen, since, healed = new, at, True
                    continue
                if done:
                    must.append(("one exchange succeeds at most", claripy.false()))
                must.append(("a damaged word is healed first", before.is_valid()))
                done = (expected, new, since)
        if done:
            before, after, since = done
        else:
            before = after = seen if seen is not None else fresh("any", self.layout.bits)
        self.meet(world, events, since, healed)
        a, b = Word(self.layout, before), Word(self.layout, after)
        if operation == "acquire" and not done:
            # A damaged word that looks closed passes, as two loads are all that the closed path does; what changes it
            # next heals it.
            passes = And(Not(a.is_valid()), a.is_closed)
            must.append(("a damaged word passes only if it looks closed", Or(a.is_valid(), a.is_closed)))
            when = a.is_valid()
            must.append(("admitted if it looks closed", Or(Not(passes), self.program.returned(state) == 1)))
        elif not done:
            # A report of a permit that needs nothing of the word does not look at it closely.
            when = a.is_valid() if seen is not None else claripy.true()
        else:
            when = claripy.true()
        name = "p_trip" if operation == "trip" else operation
        for case in getattr(self.specification, name)(a, world):
            effect = And(b.word == case.word, *self.told(operation, state, world, case, a, b))
            must.append((f"case {case.cause or 'within the epoch'}", (And(when, case.when), effect)))
        return must, a, b

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
        returned = wide(self.program.returned(state))
        started = If(world.later == 0, number(1), world.later)
        if operation == "acquire":
            if case.answer == ADMITTED:
                measured = If(self.rules.has_slow == 1, started, number(0))
                return [returned == 1, self.granted(state) == b.word, wide(self.answer(state, 0)) == measured]
            _, kind, wait = case.answer
            return [returned == 0, wide(self.answer(state, 1)) == kind, wide(self.answer(state, 2)) == wait]
        if operation == "renew":
            _, is_renewed = case.answer
            measured = If(world.started == 0, number(0), started)
            told = [returned == int(is_renewed)]
            if is_renewed:
                told += [self.granted(state) == b.word, wide(self.answer(state, 0)) == measured]
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
        if self.program.pointer == 32:
            # The time of a transition is put together from a later reading, less than half an hour later.
            since = (world.later - world.now + (1 << 21)) & 0xFFFF_FFFF
            rest = Or(since.UGE(1 << 22), rest)
        return [wide(self.program.returned(state)) == 1, *told, rest]

    def check(self, operation, state, world):
        """What does not hold on a path: names, with an example."""
        solver, failed = state.solver, []
        must, a, b = self.obligations(operation, state, world)
        covered = []
        for name, condition in must:
            if isinstance(condition, tuple):
                when, effect = condition
                covered.append(when)
                counter = [when, Not(effect)]
                if solver.satisfiable(extra_constraints=[when]) and solver.satisfiable(extra_constraints=counter):
                    failed.append((name, self.example(state, world, counter, a, b)))
            elif solver.satisfiable(extra_constraints=[Not(condition)]):
                failed.append((name, self.example(state, world, [Not(condition)], a, b)))
        return failed

    def example(self, state, world, constraints, a, b):
        """Numbers for which it does not hold."""
        pins, told = list(constraints), {}
        values = {"old": a.word, "new": b.word, "now": world.now, "granted": world.granted.word}
        values |= {"started": world.started, "ms": world.ms, "returned": self.program.returned(state)}
        values |= {name: raw for name, raw in self.rules.raw.items() if not raw.concrete}
        values |= {f"answer{k}": self.answer(state, k) for k in range(10)}
        for name, value in values.items():
            told[name] = state.solver.eval(value, extra_constraints=pins)
            pins.append(value == told[name])
        kinds = " ".join(event.kind for event in state.globals["events"])
        return " ".join(f"{name}={value:#x}" for name, value in told.items()) + f" [{kinds}]"

    def prove(self, operation):
        begun = time.time()
        state, world = self.begin(operation)
        turns, count, failed = loop.Turns(self.program, world), 0, []
        for path in turns.paths(state):
            count += 1
            failed += self.check(operation, path, world)
            if len(failed) > 2:
                break
        for error in turns.errors[:3]:
            print(f"    {error}")
        for name, example in failed[:3]:
            print(f"    {name}: {example}")
        is_equal = bool(count) and not failed and not turns.errors
        verdict = "equal" if is_equal else "NOT EQUAL"
        print(f"{operation:18} {count:4} paths {turns.count:3} turns {time.time() - begun:6.1f} s  {verdict}", flush=True)
        return is_equal


def main():
    path, layout, operations, *options = sys.argv[1:]
    named = dict(option.split("=") for option in options)
    free = named.pop("free", "")
    free = list(GROUPS) if free == "all" else [group for group in free.split(",") if group]
    fixed = {name: int(value, 0) for name, value in named.items()}
    proof = Proof(Program(path, layout), free, **fixed)
    operations = OPERATIONS if operations == "all" else operations.split(",")
    results = [proof.prove(operation) for operation in operations]
    print(f"{sum(results)} of {len(results)} equal")
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
