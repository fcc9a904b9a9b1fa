# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares the functions of the library for C, as they lie in its archive, with the same specification.

    c.py PROGRAM wide|narrow FUNCTION[,..] [free=SETTING[,..]] [SETTING=NUMBER ..]

The rules are those that `ab_rules_init` has made of settings. Misuse is tried as well, as far as the header says what becomes of
it. The settings are those of `ab_settings`, by default `AB_DEFAULTS`.
"""

import sys

import looks
import state as states
from arrows import ADMITTED
from c_specification import SETTINGS, CRules, CSpecification, drawn
from every import holds_for_each
from machine import ANSWER, RULES, WORD, Machine
from program import Program
from prove import Proof, World
from solvers import Bitwuzla
from state import Fault
from terms import FALSE, TRUE, And, If, Not, Or, concat, equal, evaluate, extract, lshr, number, variable, widened
from times import Times
from word import NARROW, WIDE, Word, most, wide

sys.setrecursionlimit(100_000)

# The result, or the permit, and the token lie within what a function may write.
TOKEN = ANSWER + 128
RULES_SIZE = 104
NO_RULES = 0xFFFF_FFFE
MARK = (0xA70B_4EAC, 0x5EC0_2D02)

REPORTS = "report ignore report_failures report_retry_after report_down cancel renew".split()
COMMANDS = "trip force_open release disable enable reset probe_now".split()
RESTORES = "restore restore_after restore_running".split()
LOOKS = "state snapshot".split()
FUNCTIONS = ["acquire", *REPORTS, *COMMANDS, *RESTORES, *LOOKS, "trips", "rules_init"]
ARGUMENT = {
    "report": 1, "report_failures": 16, "report_retry_after": 32, "report_down": 32, "trip": 32, "restore_after": 32
}  # fmt: skip


class RoundTrip:
    """Milliseconds that are made to seconds and nanoseconds, and back, are the same number again: shown once, and not again in
    each question that follows."""

    def __init__(self, argument):
        self.argument, self.known = argument, {}

    def look(self, state):
        state.known = tuple(truth for truth in state.known if not (self.is_of_it(truth) and self.is_true(truth)))
        for bytes_ in (state.registers, state.memory):
            for place, (term, k) in list(bytes_.at.items()):
                if term.size >= 32 and self.is_of_it(term):
                    plain = widened(self.argument, term.size)
                    if self.is_true(equal(term, plain)):
                        bytes_.at[place] = (plain, k)

    def is_of_it(self, term):
        return term.variables == self.argument.variables

    def is_true(self, truth):
        if truth not in self.known:
            samples = (0, 1, 999, 1_000, 1_001, 4_999, 123_456, 0xFFFF_FFFF)
            seems = all(evaluate(truth, {self.argument.args[0]: value}) for value in samples)
            self.known[truth] = seems and holds_for_each(truth)
        return self.known[truth]


class CProof(Proof):
    def __init__(self, program, layout, free=(), **fixed):
        self.program, self.layout = program, WIDE if layout == "wide" else NARROW
        self.solver, self.pointer = Bitwuzla(), program.target.bits
        self.second, self.agreed, self.unsure = None, 0, 0
        assert not set(fixed) - SETTINGS.keys() and not set(free) - SETTINGS.keys(), "no setting of C"
        settings = {name: number(fixed.get(name, default), 32) for name, default in SETTINGS.items()}
        self.settings = settings | {name: variable(name, 32) for name in free}
        self.rules = CRules(self.layout, self.settings)
        self.specification = CSpecification(self.layout, self.rules, Times(self.layout, self.rules, self.rules.grown_after))
        self.bytes, self.is_small = self.layout.bits // 8, self.layout.bits == 32
        # Two registers of x86-64 hold a permit of 16 bytes.
        self.in_registers = self.is_small and self.pointer == 64

    def machine(self):
        runner = Machine(self.program, self.layout, self.solver)
        if "ab_panicked" in self.program.symbols:
            runner.hooks[self.program.find("ab_panicked")] = "ab_panicked"
        return runner

    def name(self, function):
        return f"ab{self.layout.bits}_{function}"

    def with_settings(self, function, arguments):
        runner = self.machine()
        state = runner.start(self.name(function), arguments)
        for k, value in enumerate(self.settings.values()):
            state.memory.write(RULES + 4 * k, value)
        return runner, state

    def rules_made(self):
        """All that `ab_rules_init` makes of the settings: bytes, and what is known then."""
        runner, start = self.with_settings("rules_init", [ANSWER, RULES])
        for _, state in runner.explore([start]):
            known = [*state.known, self.pointer_of(state) == 0]
            if self.solver.satisfiable(known):
                yield [state.memory.at.get(ANSWER + k) for k in range(RULES_SIZE)], known
        if runner.errors:
            raise Fault(runner.errors[0])

    def cases(self, operation):
        """What is proved by itself: rules, what is wrong with the call, and a group of times."""
        function = operation.removeprefix("ab_")
        wrong = ["no rules"]
        if function == "trips":
            wrong = ["no token", "empty token"]
        elif function != "rules_init":
            wrong = ["no breaker", "no rules", "unchecked rules"]
            wrong += [] if self.is_small else ["unaligned"]
            wrong += ["no token", "empty token"] if function in REPORTS else []
        made = [None] if function in ("trips", "rules_init") else list(self.rules_made())
        groups = self.groups(function in REPORTS) if ARGUMENT.get(function) == 32 else [None]
        if function == "cancel":
            # Code reads how old the permit is once, and what turns know of that in different ways is forgotten.
            groups = ["older", "as old", "of later"]
        right = [(rules, "", group) for rules in made for group in groups]
        return right + [(rules, case, None) for rules in made[:1] for case in wrong]

    def begin(self, operation, rules, wrong, group):
        function, world = operation.removeprefix("ab_"), World()
        self.function, world.wrong, world.lasting = function, wrong, set(SETTINGS)

        def free(name, bits):
            world.lasting.add(name)
            return variable(name, bits)

        if function == "rules_init":
            runner, state = self.with_settings(function, [0 if wrong else ANSWER, RULES])
            world.runner, world.started, world.weight = runner, number(0), number(0)
            return runner, state, world
        now, argument = free("now_ms", 32), free("argument", ARGUMENT.get(function, 32))
        granted, started = free("granted", self.layout.bits), free("started", 32)
        odd = free("odd", 3)
        known = [odd != 0]
        if function in ARGUMENT and group:
            more_than, most_ms = group
            if most_ms == more_than + 1:
                argument = number(most_ms, 32)
            else:
                known += [argument.ule(most_ms), Not(argument.ule(more_than))]
        word = {"no breaker": 0, "unaligned": number(WORD, 64) + widened(odd, 64)}.get(wrong, WORD)
        arguments = [word, 0 if wrong == "no rules" else RULES]
        if function in REPORTS or function == "trips":
            arguments += [0 if wrong == "no token" else TOKEN]
        if function == "trips":
            arguments = arguments[2:]
        else:
            arguments += [widened(argument, 32)] if function in ARGUMENT else []
            arguments += [now]
        if function == "snapshot" or function == "acquire" and not self.in_registers:
            arguments = [ANSWER, *arguments]
        arguments = [value if isinstance(value, int) or value.size <= self.pointer else extract(value, 0, self.pointer) for value in arguments]
        runner = self.machine()
        state = runner.start(self.name(function), arguments)
        if rules is not None:
            bytes_, truths = rules
            known += truths
            for k, byte in enumerate(bytes_):
                state.memory.at[RULES + k] = byte or (free(f"padding{k}", 8), 0)
        if wrong == "unchecked rules":
            state.memory.write(RULES, free("mark", 32))
            known.append(variable("mark", 32) != self.mark)
        # The bits are turned over, so that none of them is no permit.
        token = number(0, self.layout.bits) if wrong == "empty token" else ~granted
        if argument.size == 32 and not argument.is_constant:
            runner.asked = RoundTrip(argument)
        world.granted, world.started = Word(self.layout, ~token), wide(started)
        if function in REPORTS or function == "trips":
            state.memory.write(TOKEN, token)
            state.memory.write(TOKEN + self.bytes, started)
        if function in REPORTS and wrong != "empty token":
            known += [world.granted.is_valid(), is_granted(world.granted)]
        world.token = token
        if function in RESTORES:
            marks = [free(f"mark{k}", 32) for k in range(2)]
            world.is_marked = And(marks[0] == MARK[0] ^ self.layout.tick_log2, marks[1] == MARK[1])
            runner.kept = range(WORD + self.bytes, WORD + self.bytes + 8)
            for k, mark in enumerate(marks):
                state.memory.write(runner.kept.start + 4 * k, mark)
        world.now = world.later = world.clock = wide(now)
        if function == "cancel" and group:
            times, now, granted_at = self.specification.times, world.now, world.granted.time
            age, is_later = times.age(now, granted_at), times.passed(lshr(now, times.shift), granted_at).slt(0)
            is_late = age.uge(times.ticks(self.rules.cancel_ms))
            known += {"older": [Not(is_later), is_late], "as old": [Not(is_later), Not(is_late)], "of later": [is_later]}[group]
        state.known = tuple(truth for truth in known if truth is not TRUE)
        world.weight = world.ms = world.time = wide(argument)
        world.succeeded = argument == 1 if argument.size == 1 else FALSE
        world.random = world.dice = drawn(world.now)
        return runner, state, world

    @property
    def mark(self):
        """Of rules that were checked for words of these bits."""
        return 0xAB07_42AC ^ self.bytes

    def meet(self, world, events, since, healed):
        """Time and chance are those of the call."""
        world.first = next((event.values[0] for event in events if event.kind == "load"), None)

    # What a function returns.

    def pointer_of(self, state):
        return self.register(state, self.program.target.answer, self.pointer // 8)

    def register(self, state, name, count):
        return state.registers.read(self.program.registers[name][0], count)

    def returned(self, state):
        if self.function == "acquire":
            return self.result(state, 0, 1)
        if self.function == "rules_init":
            return self.pointer_of(state)
        return self.register(state, self.program.target.answer, 4 if self.function in ("state", "trips") else 1)

    def result(self, state, at, count):
        """A part of what a function returns that returns a structure."""
        if self.in_registers and self.function == "acquire":
            both = concat(self.register(state, "RDX", 8), self.register(state, "RAX", 8))
            return extract(both, 8 * at, 8 * count)
        return state.memory.read(ANSWER + at, count)

    def permit(self, state):
        return [self.result(state, at, count) for at, count in ((0, 1), (4, 4), (8, self.bytes), (8 + self.bytes, 4))]

    def token(self, state):
        return state.memory.read(TOKEN, self.bytes), state.memory.read(TOKEN + self.bytes, 4)

    def told(self, operation, state, world, case, a, b):
        returned, started = wide(self.returned(state)), If(world.later == 0, number(1), world.later)
        if operation == "acquire":
            told = [value for value in self.permit(state)]
            if case.answer == ADMITTED:
                measured = If(self.rules.has_slow == 1, started, number(0))
                return [told[0] == 1, told[1] == 0, equal(told[2], ~b.word), wide(told[3]) == measured]
            return [told[0] == 0, wide(told[1]) == case.answer[2], told[2] == 0, told[3] == 0]
        if operation in RESTORES:
            marks = [state.memory.read(WORD + self.bytes + 4 * k, 4) for k in range(2)]
            is_kept = And(world.is_marked, Word(self.layout, world.first).is_valid())
            is_set = [marks[0] == MARK[0] ^ self.layout.tick_log2, marks[1] == MARK[1]]
            return [*is_set, equal(returned == 1, is_kept), returned.ule(1)]
        if operation in COMMANDS:
            return [returned == int(case.cause is not None)]
        word, start = self.token(state)
        if operation == "renew":
            is_renewed = case.answer[1]
            measured = If(world.started == 0, number(0), started)
            granted = ~b.word if is_renewed else world.token
            return [
                returned == int(is_renewed),
                equal(word, granted),
                wide(start) == (measured if is_renewed else world.started),
            ]
        return [returned == int(case.cause is not None), word == 0, wide(start) == world.started]

    # What must hold.

    def obligations(self, operation, state, world, is_cut=False):
        function = operation.removeprefix("ab_")
        kinds = [event.kind for event in state.events]
        must = [("nothing else is written", FALSE)] if self.strays(state, function) else []
        if "mark" in kinds and "exchange" in kinds[kinds.index("mark") :]:
            must.append(("the mark is set last", FALSE))
        if world.wrong or function in ("trips", "rules_init", *LOOKS):
            return must + self.others(function, state, world), None, None
        more, a, b = super().obligations(function, state, world, is_cut)
        return must + more, a, b

    def strays(self, state, function):
        written = {at for at in state.memory.at if ANSWER <= at < ANSWER + 256}
        if function in REPORTS or function == "trips":
            written -= set(range(TOKEN, TOKEN + self.bytes + 4))
        size = {"acquire": 12 + self.bytes, "snapshot": 20, "rules_init": RULES_SIZE}.get(function, 0)
        return written - set(range(ANSWER, ANSWER + (size + 7) // 8 * 8))

    def others(self, function, state, world):
        returned, loads = wide(self.returned(state)), [e.values[0] for e in state.events if e.kind == "load"]
        if function == "rules_init":
            return self.checked(state, world, returned)
        untouched = []
        if function in REPORTS or function == "trips":
            word, start = self.token(state)
            untouched = [("the token stays", And(equal(word, world.token), wide(start) == world.started))]
        if function == "trips":
            g = world.granted
            is_probe = And(world.token != 0, g.is_valid(), g.is_half_open, TRUE if world.wrong != "no token" else FALSE)
            return [*untouched, ("trips", returned == If(is_probe, most(g.trips, number(1)), number(0)))]
        shown = [wide(self.result(state, 4 * k, 4)) for k in range(5)]
        if world.wrong:
            if function == "acquire":
                told = [value == wanted for value, wanted in zip(self.permit(state), (0, NO_RULES, 0, 0))]
            elif function == "snapshot":
                told = [value == wanted for value, wanted in zip(shown, (0, 0, 0, 0, NO_RULES))]
            else:
                told = [returned == 0]
            is_nothing = FALSE if state.events else TRUE
            return [*untouched, (f"{world.wrong}: nothing happens", is_nothing), (f"{world.wrong}: told", And(*told))]
        if [event.kind for event in state.events] != ["load"]:
            return [("the word is loaded once", FALSE)]
        found = Word(self.layout, loads[0])
        a = Word(self.layout, If(found.is_valid(), found.word, self.specification.enter(found, 0)))
        told = looks.fields(self, a, self.specification.state(a, world), world)
        if function == "state":
            return [("state", returned == told["state"])]
        waits, wait = self.specification.rejection(a, world)
        told["wait"] = If(waits, wait, number(0))
        names = ("state", "failures", "trips", "epoch", "wait")
        return [(name, value == told[name]) for name, value in zip(names, shown)]

    def checked(self, state, world, returned):
        """Of rules: accepted as the specification has it, or refused with a text, and nothing is written."""
        accepted = FALSE if world.wrong else self.rules.are_accepted()
        marked = state.memory.read(ANSWER, 4) == self.mark
        places = [at for at in range(ANSWER, ANSWER + RULES_SIZE) if at in state.memory.at]
        untouched = And(*[equal(state.memory.byte(at), variable(f"memory_{at:x}", 8)) for at in places])
        must = [
            ("accepted if they may be", equal(returned == 0, accepted)),
            ("accepted ones are marked", Or(returned != 0, marked)),
            ("refused ones are not written", Or(returned == 0, untouched)),
        ]
        for address, _ in world.runner.each(state, self.pointer_of(state), "a text anywhere"):
            text = self.program.read(address, 1) and self.text(address)
            must += [] if address == 0 or text else [("a text", FALSE)]
        return must

    def text(self, address):
        text = b""
        while (byte := self.program.read(address + len(text), 1)) not in (b"\0", None):
            text += byte
        return text.isascii() and byte is not None and len(text) > 10


def is_granted(granted):
    """By a breaker: while it was closed, returning or disabled, or to a probe."""
    return Or(granted.counts, And(granted.is_half_open, granted.probes != 0), granted.is_disabled)


def main():
    path, layout, functions, *options = sys.argv[1:]
    named = dict(option.split("=") for option in options)
    target, free = named.pop("name", layout), [name for name in named.pop("free", "").split(",") if name]
    states.MOST_APART = int(named.pop("apart", states.MOST_APART))
    program = Program(path)
    program.outside = {name: at for name, at in program.symbols.items() if name in ("memcpy", "memset")}
    proof = CProof(program, layout, free, **{name: int(value, 0) for name, value in named.items()})
    functions = FUNCTIONS if functions == "all" else functions.split(",")
    results = [proof.prove(f"ab_{function}", target) for function in functions]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
