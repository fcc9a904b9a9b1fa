# SPDX-License-Identifier: MIT OR Apache-2.0
"""The loop: what a lost exchange leaves behind.

A path whose exchange is lost comes back to where it has been before, the head of the loop, with the value that was found.
Whatever depends on other readings of that turn is forgotten, that is, becomes any number; what a function has read once,
before the loop, may stay: the first load, and the first reading of the clock. Of all paths that come back to one head, only
what is the same in all of them stays. When nothing more is forgotten, all further turns are among those that were followed:
paths with any number of lost exchanges. This is how abstract interpreters treat loops (widening).
"""

from collections import namedtuple

import claripy

from machine import begin, explore, fresh

# What is known at a head: values by register or address (`None` if forgotten), and constraints by their hash.
Known = namedtuple("Known", "slots constraints")

MOST_TURNS = 60


class Turns:
    """All paths of a function that return, one after the other."""

    def __init__(self, program, world):
        self.program, self.world = program, world
        self.heads, self.count, self.errors = {}, 0, []

    def paths(self, state):
        todo = [state]
        while todo:
            came = {}
            for start in todo:
                found = explore(self.program, start)
                self.errors += found.errors
                yield from found.ended
                for path in found.again:
                    came.setdefault(self.head(path), []).append(path)
            todo = [turn for head, paths in came.items() if (turn := self.begin_again(head, paths))]
            self.count += len(todo)
            if self.count > MOST_TURNS:
                self.errors.append("the loop does not come to rest")
                return

    @staticmethod
    def head(path):
        """The instruction, and how deep in the stack."""
        return path.addr, path.solver.eval(path.regs.sp)

    def begin_again(self, head, paths):
        """The state in which the next turn begins, for each of these paths and those before; `None` if it was followed."""
        known = self.heads.get(head)
        joined = known
        for path in paths:
            joined = join(joined, self.known(path))
        if known and not is_less(joined, known):
            return None
        self.heads[head] = joined
        path, anew = paths[-1], found_anew(self.program)
        turn = path.copy()
        turn.solver.reload_solver(list(joined.constraints.values()))
        variables = set(self.world.lasting)
        for constraint in joined.constraints.values():
            variables |= constraint.variables
        for place, value in joined.slots.items():
            if value is None:
                value = fresh("forgotten", read(path, place).size())
            else:
                variables |= value.variables
            write(turn, place, value)
        # Of what happened before, only what is still known.
        events = [
            event
            for event in path.globals["events"]
            if event.kind in ("load", "now") and event.values[0].variables <= variables
        ]
        load = path.globals["events"][0]._replace(kind="load", values=(anew,))
        begin(turn, (*events, load))
        return turn

    def known(self, path):
        """What a path knows when it comes back."""
        events, anew = path.globals["events"], found_anew(self.program)
        found = [event for event in events if event.kind == "exchange"][-1].values[3]
        lasting = self.world.lasting | anew.variables
        for kind in ("load", "now"):
            for event in [event for event in events if event.kind == kind][:1]:
                lasting |= event.values[0].variables

        halves = [(found, anew)]
        if found.size() == 64:
            halves += [(found[31:0], anew[31:0]), (found[63:32], anew[63:32])]

        def renamed(value):
            # What was found, or what was expected, where these are the same.
            for old, new in halves if found.variables <= value.variables else ():
                if value.size() == old.size() and not path.solver.satisfiable(extra_constraints=[value != old]):
                    return new
            return claripy.replace(value, found, anew)

        constraints = {}
        for constraint in path.solver.constraints:
            constraint = claripy.replace(constraint, found, anew)
            if constraint.variables <= lasting:
                constraints[constraint.hash()] = constraint
        slots = {}
        for place in places(self.program, path, self.world):
            value = renamed(read(path, place))
            slots[place] = value if value.variables <= lasting else None
        return Known(slots, constraints)


def found_anew(program):
    """The word that a turn begins with."""
    return claripy.BVS("FOUND", program.layout.bits, explicit_name=True)


def join(one, other):
    """What both know."""
    if one is None:
        return other
    slots = {}
    for place, value in one.slots.items():
        there = other.slots.get(place)
        is_same = value is not None and there is not None and value.hash() == there.hash()
        slots[place] = value if is_same else None
    constraints = {key: value for key, value in one.constraints.items() if key in other.constraints}
    return Known(slots, constraints)


def is_less(joined, known):
    """Whether anything was forgotten that was known."""
    forgotten = any(joined.slots[place] is None for place, value in known.slots.items() if value is not None)
    return forgotten or len(joined.constraints) < len(known.constraints)


def places(program, path, world):
    """Registers by name, and the stack by address, four bytes at a time, as one word of it may hold two values."""
    for register in program.project.arch.register_list:
        is_known = register.general_purpose or register.vector or register.name.startswith("cc_")
        if is_known and register.name not in ("ip", "rip", "pc"):
            yield register.name
    bottom, top = path.solver.eval(path.regs.sp), path.solver.eval(world.top)
    # Below the stack pointer lies the red zone.
    yield from range(bottom - 128, top + 64, 4)


def read(path, place):
    if isinstance(place, str):
        return getattr(path.regs, place)
    return path.memory.load(place, 4, endness="Iend_LE", inspect=False, disable_actions=True)


def write(path, place, value):
    if isinstance(place, str):
        setattr(path.regs, place, value)
    else:
        path.memory.store(place, value, endness="Iend_LE", inspect=False, disable_actions=True)
