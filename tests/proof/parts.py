# SPDX-License-Identifier: MIT OR Apache-2.0
"""The layout of a journal in flash, whose properties are functions that always return 1; and the tally of the last calls.

    parts.py PROGRAM PART[,..]
"""

import sys
import time

import loop
from machine import ANSWER, WORD, Machine
from program import Program
from solvers import Bitwuzla
from state import Fault
from terms import FALSE, TRUE, And, If, Not, Or, equal, extract, number, variable, widened
from word import WIDE, wide

# Bits of the arguments; bytes of memory that a pointer before them leads to.
ALWAYS = {
    "geometry": ([32] * 6, 0),
    "header": ([32, 16, 32], 0),
    "any_header": ([], 12),
    "head": ([32] * 6, 0),
    "any_head": ([32, 32], 32),
    "marked": ([], 8),
}
TALLY = {"record": [16, 1, 16, 16], "clear": []}
# Not `record`, which does not come to an end within minutes.
PARTS = [*ALWAYS, "clear"]
LAST = 20


class Part:
    def __init__(self, program, name):
        self.program, self.name, self.solver = program, name, Bitwuzla()
        self.runner = Machine(program, WIDE, self.solver)
        for symbol, address in program.symbols.items():
            if "panicking" in symbol or "_fail" in symbol:
                self.runner.hooks[address] = symbol
        widths, count = ALWAYS.get(name) or (TALLY[name], 0)
        self.arguments = [variable(f"argument{k}", bits) for k, bits in enumerate(widths)]
        passed = [widened(argument, 32) for argument in self.arguments]
        first = [WORD] if name in TALLY else [ANSWER] if count else []
        self.start = self.runner.start(f"always_{name}" if name in ALWAYS else f"p_{name}", [*first, *passed])
        bytes_ = [variable(f"byte{k}", 8) for k in range(count)]
        for k, byte in enumerate(bytes_):
            self.start.memory.write(ANSWER + k, byte)
        self.lasting = {value.args[0] for value in [*self.arguments, *bytes_]}

    def must(self, state):
        returned = self.program.registers[self.program.target.answer][0]
        returned = wide(state.registers.read(returned, 4))
        if self.name in ALWAYS:
            return [("returns 1", FALSE if state.events else returned == 1)]
        seen, stored = None, None
        for event in state.events:
            if event.kind == "load":
                seen = event.values[0]
            elif stored is not None:
                return [("one exchange", FALSE)]
            else:
                seen, stored = event.values
        after = seen if stored is None else stored
        if self.name == "clear":
            return [("forgets", equal(after, self.cleared(seen)))]
        return [
            (name, Or(Not(when), effect))
            for when, history, trips in self.recorded(seen)
            for name, effect in (("the history", equal(after, history)), ("whether it trips", equal(returned == 1, trips)))
        ]

    def recorded(self, word):
        """The last calls of one epoch, below a one: the new one is the lowest, and the oldest falls out. By how many calls are
        remembered, which the place of the highest one says."""
        epoch, failed, points, least = (wide(argument) for argument in self.arguments)
        epoch &= 15
        is_same = wide(extract(word, 0, 4)) == epoch
        bits = wide(extract(word, 4, 60))
        for count in range(60):
            seen = min(count + 1, LAST)
            if count == 0:
                when, kept = Or(Not(is_same), bits.ule(1)), failed
            else:
                when = And(is_same, bits.uge(1 << count), bits.ult(1 << (count + 1)))
                kept = ((bits << 1) | failed) & ((1 << seen) - 1)
            failures = sum((wide(extract(kept, k, 1)) for k in range(seen)), number(0))
            trips = And(failed == 1, least.ule(seen), (failures * 10_000).uge(points * seen))
            yield when, ((kept | (1 << seen)) << 4) | epoch, trips

    def cleared(self, word):
        return If(wide(extract(word, 4, 60)).ugt(1), wide(extract(word, 0, 4)), word)

    def prove(self):
        begun, count, failed, turns = time.time(), 0, [], loop.Turns(self.runner, self.lasting)
        try:
            for state in turns.ends(self.start):
                count += 1
                for name, effect in self.must(state):
                    if effect is not TRUE and self.solver.satisfiable([*state.known, Not(effect)]):
                        values = self.solver.model([*self.arguments, state.registers.read(0, 4)])
                        failed.append(f"{name}: {[hex(value) for value in values]}")
        except Fault as fault:
            failed.append(str(fault))
        for line in (self.runner.errors + failed)[:3]:
            print(f"    {line}")
        is_right = bool(count) and not failed and not self.runner.errors
        print(
            f"parts        {self.name:18} {count:3} ends {turns.count:3} turns {self.runner.most_steps:5} instructions"
            f" {time.time() - begun:6.1f} s  {'equal' if is_right else 'NOT EQUAL'}",
            flush=True,
        )
        return is_right


def main():
    path, names = sys.argv[1:3]
    program = Program(path)
    results = [Part(program, name).prove() for name in (PARTS if not names else names.split(","))]
    sys.exit(not all(results))


if __name__ == "__main__":
    main()
