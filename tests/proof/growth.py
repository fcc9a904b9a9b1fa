# SPDX-License-Identifier: MIT OR Apache-2.0
"""Any growth of the open time, on processors where the function that computes it is one of its own (`Growth::after`).

Once it is shown that the function returns what the pages say, for any settings and each number of steps. From then on what it returns
after so many steps is a number that may be anything up to the longest open time, the same in the code and in the specification.
"""

from rules import chosen
from state import Event, Fault, add_known
from terms import TRUE, Not, Or, equal, extract, number, variable
from word import wide

NAMES = ("factor", "step_ms", "longest_ms")


class Growth:
    def __init__(self, program, solver, layout, rules, placed, lengths):
        self.solver, self.rules, self.lengths = solver, rules, lengths
        self.symbol = next((name for name in program.symbols if "6Growth5after" in name), None)
        self.begin = min(placed.place[name] for name in NAMES)
        self.offsets = {name: placed.place[name] - self.begin for name in NAMES}
        # A longer row of trips is not told apart.
        self.most = layout.max["trips"] - 1
        self.is_any = self.symbol is not None and not any(rules.raw[name].is_constant for name in NAMES)
        self.grown = [rules.open_ms, *(wide(variable(f"grown_{k}", 32)) for k in range(1, self.most + 1))]

    @property
    def names(self):
        return {f"grown_{k}" for k in range(1, self.most + 1)}

    def after(self, steps):
        """The open time after so many steps of growth."""
        return chosen(steps, self.grown) if self.is_any else self.rules.grown_after(steps)

    def facts(self):
        """What is known of numbers that may be anything."""
        if not self.is_any:
            return []
        return [Or(self.rules.growth == 0, ms.ule(self.rules.longest_ms)) for ms in self.grown[1:]]

    def calls(self, machine, state):
        """Returns from a call, whose arguments must be the settings that are in force and a number of steps: once for each number of steps, and
        for each length of the code of the open time that it returns, as the code takes other ways with each."""
        at, first, steps = (machine.get(state, register) for register in machine.target.arguments[:3])
        at = at.args[0] if at.op == "const" else 0
        must = [equal(first, self.rules.raw["open_ms"]), wide(steps).ule(self.most)]
        for name, offset in self.offsets.items():
            there = machine.load(state, number(at + offset, machine.target.bits), 4)
            must.append(equal(there, self.rules.raw[name]))
        for truth in must:
            if truth is not TRUE and self.solver.satisfiable([*state.known, Not(truth)]):
                raise Fault("the open time grows by something else than its settings")
        frame, state.frames = state.frames[-1], state.frames[:-1]
        state.at, state.index = frame.back, 0
        for k, ms in enumerate(self.grown):
            for length, is_within in enumerate(self.lengths(ms)):
                fork = state.copy()
                fork.known = add_known(add_known(state.known, wide(steps) == k), is_within)
                if machine.can(fork):
                    machine.set(fork, machine.target.answer, extract(ms, 0, machine.target.bits))
                    fork.events += (Event("grown", (ms,), (k, length)),)
                    yield "goes on", fork

    def compare(self, machine, start):
        """The number of ends of the function, and the numbers of steps after which it returns something else, or what is longer than
        the longest. `start` makes the state in which it is called with these arguments."""
        ends, wrong = 0, []
        if not self.is_any:
            return ends, ["any number of"]
        open_ms, longest_ms = self.rules.open_ms, self.rules.longest_ms
        for k in range(self.most + 1):
            right, before = self.rules.grown(k), ends
            is_right = self.solver.excluded([open_ms.ule(longest_ms), Not(right.ule(longest_ms))])
            for kind, end in machine.explore([start(self.symbol, self.rules.raw["open_ms"], number(k, 32))]):
                ends += 1
                returned = wide(machine.get(end, machine.target.answer))
                is_right &= kind == "ended" and not end.events
                is_right &= self.solver.excluded([*end.known, Not(equal(returned, right))])
            if not is_right or ends == before or machine.errors:
                wrong.append(k)
        return ends, wrong
