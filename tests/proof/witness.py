# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs each end of each operation with numbers: the machine's predictions beside an emulated and this processor.

    witness.py PROGRAM wide|narrow OPERATION[,..] [lost=1] [chosen=1] [free=GROUP[,..]] [SETTING=NUMBER ..]
    witness.py PROGRAM wide check

Guards against faults of the lifter, the executor, the terms and the solvers. Unlike the proof it forgets nothing: a turn of
the loop begins with all that is known of the one before, and only a few exchanges are lost. `check` breaks the executor on
purpose, and sees that this is reported.
"""

import random
import sys
import time

import pcode
import state as states
from emulator import Differs
from machine import ANSWER, Machine
from program import Program
from prove import OPERATIONS, REPORTS, WITH_TIME, Proof
from replay import alone, emulate, natively
from solvers import Unsure
from state import Event
from terms import Not, Term, ashr, evaluate, extract, less, variable, widened

ANSWER_SIZE, MOST_QUESTIONS, SECONDS = 64, 6, 1
# In the scratch of an instruction, behind everything of its own: what an exchange expects.
EXPECTED = 1 << 40


class Exact(Machine):
    """Runs a function with every exchange as an event, lost ones, too: `lost EXPECTED NEW FOUND`, and `load FOUND`."""

    def __init__(self, proof):
        super().__init__(proof.program, proof.layout, proof.solver)

    def special(self, state, name, op):
        forks = super().special(state, name, op)
        if name == "LOCK":
            state.scratch.write(EXPECTED, extract(self.get(state, "RAX"), 0, self.layout.bits))
        for _, lost in forks or ():
            lost.events += self.lost(lost)
        return forks

    def lost(self, state):
        found = state.exchange[1]
        expected = state.scratch.read(EXPECTED, self.layout.bits // 8)
        new = self.value(state, self.source(state.at))
        # The load is none of the machine: the next turn begins with what this one has found.
        return Event("lost", (expected, new, found), state.at), Event("load", (found,), "found")

    def source(self, at):
        """The register that an exchange stores: copied only where it is stored."""
        ops = self.program.instruction(at).ops
        (stored,) = [op.inputs[2] for op in ops if op.opcode == pcode.code.STORE]
        copies = [op for op in ops if op.output and (op.output.space, op.output.offset) == (stored.space, stored.offset)]
        return copies[-1].inputs[0]


def begin(proof, operation):
    """The machine, the state before, and what the operation meets, with the durations as they are passed."""
    _, state, world = proof.begin(operation)
    return Exact(proof), state, world


def ends(machine, start, most_lost):
    """All ends after up to so many lost exchanges."""
    todo = [start]
    for _ in range(most_lost + 1):
        lost = []
        for kind, state in machine.explore(todo):
            if kind == "ended":
                yield state
            else:
                state = state.copy()
                state.exchange = None
                lost.append(state)
        todo = lost


def variables(terms):
    """The variables within, by name."""
    seen, todo, found = set(), list(terms), {}
    while todo:
        term = todo.pop()
        if term not in seen:
            seen.add(term)
            if term.op == "var":
                found[term.args[0]] = term
            todo += [a for a in term.args if isinstance(a, Term)]
    return found


class Witnesses:
    """Numbers for the ends of one operation."""

    def __init__(self, proof, operation, chance):
        self.proof, self.operation, self.chance = proof, operation, chance
        self.solver, self.layout = proof.solver, proof.layout

    def number(self, bits):
        """Often small or large."""
        chance = self.chance
        return chance.choice([0, 1, 2, 3, chance.getrandbits(4), (1 << bits) - 1, *(chance.getrandbits(bits) for _ in "four")])

    def wishes(self, found):
        """Random numbers for all that is free; of words, field by field."""
        for name, term in found.items():
            if name.startswith(("seen", "granted", "found")):
                for field in ("time", "payload", "epoch", "trips", "state"):
                    low, width = self.layout.fields[field]
                    yield extract(term, low, width) == self.number(width)
            elif term.size:
                yield term == self.number(term.size)

    @staticmethod
    def undisturbed(state):
        """That no other thread changes the word."""
        word = None
        for event in state.events:
            if event.kind in ("load", "exchange", "lost"):
                found = event.values[2 if event.kind == "lost" else 0]
                if word is not None:
                    yield found == word
                word = event.values[1] if event.kind == "exchange" else found

    def granted(self, known, first, wishes):
        """As many of the wishes as are possible together, by a few questions."""
        first, wishes, granted, left = list(first), list(wishes), [], MOST_QUESTIONS
        self.chance.shuffle(wishes)
        todo = [some for some in (first, wishes) if some]
        while todo and left:
            some, left = todo.pop(0), left - 1
            try:
                is_possible = self.solver.satisfiable([*known, *granted, *some], SECONDS)
            except Unsure:
                is_possible = False
            if is_possible:
                granted += some
            elif len(some) > 1:
                half = len(some) // 2
                todo += [some[:half], some[half:]]
        return granted

    def of(self, state, counterexample=(), is_random=False):
        """A witness of an end; with `counterexample`, one for which that is true."""
        told = self.told(state)
        known = [*state.known, *counterexample]
        found = variables([*known, *told.values()])
        # The answer is empty at first.
        known += [v == 0 for n, v in found.items() if n.startswith("memory_") and int(n[7:], 16) >> 24 == ANSWER >> 24]
        wishes = self.granted(known, self.undisturbed(state), self.wishes(found)) if is_random else []
        if not self.solver.satisfiable([*known, *wishes]):
            return None
        values = dict(zip(found, self.solver.model(list(found.values()))))
        if not all(evaluate(truth, values) for truth in known):
            raise Differs("numbers of the solver for which a condition is false")
        return self.made({key: evaluate(term, values) for key, term in told.items()}, state)

    def told(self, state):
        """The terms that become numbers."""
        proof, told = self.proof, {}
        for k, event in enumerate(state.events):
            told |= {("event", k, j): value for j, value in enumerate(event.values)}
        told |= {("argument", k): value for k, value in enumerate(self.arguments())}
        told |= {("rule", name): raw for name, raw in proof.rules.raw.items()}
        written = [place - ANSWER for place in state.memory.at if ANSWER <= place < ANSWER + ANSWER_SIZE]
        told |= {("answer", place): state.memory.byte(ANSWER + place) for place in written}
        return told | {"returned": proof.returned(state)}

    def arguments(self):
        def named(*names):
            return [variable(name, width) for name, width in names]

        found = named(("granted", self.layout.bits), ("started", 32)) if self.operation in REPORTS else []
        if self.operation == "failure":
            found += named(("weight", 32))
        if self.operation in WITH_TIME:
            seconds, millis, rest = named(("seconds", 32), ("millis", 10), ("rest", 20))
            found += [seconds, widened(millis, 32) * 1_000_000 + widened(rest, 32)]
        return found

    def made(self, numbers, state):
        """As `replay` wants it."""
        plain, placed = self.proof.rules.in_memory(self.proof.placed)
        rules = bytearray(plain)
        names = {place: name for name, place in self.proof.placed.place.items()}
        for place, raw in placed.items():
            rules[place : place + raw.size // 8] = numbers["rule", names[place]].to_bytes(raw.size // 8, "little")
        events = []
        for k, event in enumerate(state.events):
            values = [numbers["event", k, j] for j in range(len(event.values))]
            if event.kind == "exchange":
                events.append(["exchange", *values, values[0], True])
            elif event.kind == "lost":
                events.append(["exchange", *values, values[2] == values[0]])
            elif event.site != "found":
                events.append([event.kind, *values])
        return {
            "operation": self.operation,
            "bits": self.layout.bits,
            "pointers": ["word", "rules", "answer"],
            "arguments": [numbers["argument", k] for k in range(len(self.arguments()))],
            "rules": rules.hex(),
            "events": events,
            "returned": numbers["returned"],
            "answer": {str(place): numbers["answer", place] for kind, place in (k for k in numbers if k[0] == "answer")},
        }


class Counted:
    """The figures of one operation."""

    def __init__(self):
        self.ends = self.emulated = self.native = self.impossible = 0
        self.differences = []


def run(path, witness, counted):
    """Compares a witness with the processors."""
    counted.emulated += 1
    differs = emulate(path, witness)
    if not differs and alone(witness):
        counted.native += 1
        differs = natively(path, witness)
    if differs:
        counted.differences.append(f"{differs}: {witness}")


def compare(path, proof, operation, most_lost=1, chosen=1, most_differences=3):
    """Runs all ends of an operation: once with the solver's numbers, and so many times with random ones."""
    counted, (machine, state, _) = Counted(), begin(proof, operation)
    witnesses = Witnesses(proof, operation, random.Random(operation))
    for end in ends(machine, state, most_lost):
        counted.ends += 1
        for k in range(chosen + 1):
            try:
                witness = witnesses.of(end, is_random=k > 0)
            except Differs as differs:
                counted.differences.append(str(differs))
                continue
            if witness:
                run(path, witness, counted)
            else:
                counted.impossible += 1
        if len(counted.differences) >= most_differences:
            break
    counted.differences += machine.errors
    return counted


def wrong_side(chosen):
    return lambda when, one, other: chosen(when, other, one)


# Faults of the executor, by name: a place in it, and what stands there instead.
FAULTS = {
    "shifts keep a sign": (pcode.PLAIN, pcode.code.INT_RIGHT, pcode.shifted(ashr)),
    "less is less or equal": (pcode.PLAIN, pcode.code.INT_LESS, lambda size, a, b: pcode.flag(Not(less(b, a)))),
    "a merge takes the wrong side": (vars(states), "chosen", wrong_side(states.chosen)),
}
# Under which most of the code can be reached.
RICH = {"rule": 1, "time_ms": 100, "has_return": 1, "over_ms": 5_000, "first_percent": 20, "has_slow": 1, "slow_ms": 300}


def check(path, program, layout):
    """Breaks the executor, each time in another way, until some operation reports it."""
    reported = 0
    for name, (table, place, fault) in FAULTS.items():
        right, table[place] = table[place], fault
        begun, found = time.time(), None
        try:
            for operation in ("acquire", "failure"):
                counted = compare(path, Proof(program, layout, **RICH), operation, 0, most_differences=1)
                if counted.differences:
                    found = f"{operation}: {counted.differences[0]}"
                    break
        finally:
            table[place] = right
        reported += bool(found)
        print(f"{name:30} {time.time() - begun:6.1f} s  {found and found[:120] or 'NOT REPORTED'}", flush=True)
    return reported == len(FAULTS)


def main():
    path, layout, operations, *options = sys.argv[1:]
    program = Program(path)
    if operations == "check":
        sys.exit(not check(path, program, layout))
    named = dict(option.split("=") for option in options)
    free = [group for group in named.pop("free", "").split(",") if group]
    lost, chosen = int(named.pop("lost", 1)), int(named.pop("chosen", 1))
    proof = Proof(program, layout, free, **{name: int(value, 0) for name, value in named.items()})
    is_right = True
    for operation in OPERATIONS if operations == "all" else operations.split(","):
        begun, counted = time.time(), compare(path, proof, operation, lost, chosen)
        is_right &= not counted.differences and counted.emulated > 0
        for difference in counted.differences[:3]:
            print(f"    {difference[:400]}")
        print(
            f"{operation:18} {counted.ends:4} ends {counted.emulated:5} emulated {counted.native:5} natively"
            f" {time.time() - begun:6.1f} s  {len(counted.differences)} differences",
            flush=True,
        )
    sys.exit(not is_right)


if __name__ == "__main__":
    main()
