# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a compiled function with everything free that comes from outside, and collects its paths.

The word lies at `WORD`. Each load of it and each exchange finds a number of its own, which may be any: other threads may
have written in between, as often as they like. What happens is logged as events, in order:

    load VALUE · exchange EXPECTED NEW SUCCEEDS FOUND · now MS · random BITS · entropy BITS

A path ends when the function returns. One whose exchange is lost begins the loop anew: see `loop`.
"""

import logging
from collections import namedtuple

# Before angr is imported, which complains of what is not needed here.
logging.disable(logging.CRITICAL)

import angr
import claripy
from angr.engines import HeavyVEXMixin, HooksMixin
from angr.engines.failure import SimEngineFailure
from angr.engines.vex.heavy.resilience import HeavyResilienceMixin

from rules import Placed
from word import NARROW, WIDE

WORD, RULES, ANSWER = 0x7000_0000, 0x7100_0000, 0x7200_0000

Event = namedtuple("Event", "kind values")


class Counter:
    """Names for numbers that may be anything."""

    count = 0

    @classmethod
    def fresh(cls, name, bits):
        cls.count += 1
        return claripy.BVS(f"{name}_{cls.count}", bits, explicit_name=True)


fresh = Counter.fresh


def begin(state, events):
    """With these events, and nowhere been yet."""
    for name, value in {"events": events, "lost": -1, "decided": 0, "known": -1, "been": frozenset()}.items():
        state.globals[name] = value


def log(state, kind, *values):
    state.globals["events"] = state.globals["events"] + (Event(kind, values),)


def is_word(address):
    return address.concrete and address.concrete_value == WORD


class Engine(SimEngineFailure, HooksMixin, HeavyResilienceMixin, HeavyVEXMixin):
    """The word is shared; the rest of the memory is the function's own."""

    def _perform_vex_expr_Load(self, addr, ty, endness, **kwargs):
        if not is_word(addr):
            return super()._perform_vex_expr_Load(addr, ty, endness, **kwargs)
        value = fresh("seen", self.state.globals["bits"])
        assert value.size() == int(ty.removeprefix("Ity_I")), ty
        log(self.state, "load", value)
        return value

    def _perform_vex_stmt_Store(self, addr, data, endness, **kwargs):
        if not is_word(addr):
            return super()._perform_vex_stmt_Store(addr, data, endness, **kwargs)
        log(self.state, "plain store")
        return None

    def _perform_vex_stmt_CAS(self, addr, dataLo, dataHi, expdLo, expdHi, oldLo, oldHi, endness, ty):
        if not is_word(addr):
            return super()._perform_vex_stmt_CAS(addr, dataLo, dataHi, expdLo, expdHi, oldLo, oldHi, endness, ty)
        assert dataHi is None
        expected, new = expdLo, dataLo
        found = fresh("found", expected.size())
        log(self.state, "exchange", expected, new, found == expected, found)
        self._perform_vex_stmt_CAS_wrtmp(oldLo, found)


class Number(angr.SimProcedure):
    """The clock or chance."""

    def run(self, kind=None):
        value = fresh(kind, 32)
        log(self.state, kind, value)
        return value.zero_extend(self.state.arch.bits - 32)


class Program:
    """The compiled functions of one target, for one word."""

    def __init__(self, path, layout):
        self.layout = WIDE if layout == "wide" else NARROW
        self.project = angr.Project(path, auto_load_libs=False, engine=Engine)
        self.pointer = self.project.arch.bits
        self.is_thumb = "ARM" in self.project.arch.name
        self.blocks = {}
        for kind in ("now", "random", "entropy"):
            self.project.hook_symbol(f"env_{kind}", Number(kind=kind))
        self.placed = Placed(self.read)

    def find(self, name):
        symbol = self.project.loader.find_symbol(name)
        assert symbol, f"no {name} in the program"
        return symbol.rebased_addr

    def read(self, name, count):
        return self.project.loader.memory.load(self.find(name) & ~1 if self.pointer == 32 else self.find(name), count)

    def start(self, name, arguments, rules):
        """The state in which a function of the program is called."""
        raw = [claripy.BVV(a, self.pointer) if isinstance(a, int) else self.widened(a) for a in arguments]
        kinds = ", ".join(["unsigned long"] * len(raw))
        state = self.project.factory.call_state(
            self.find(name),
            *raw,
            prototype=f"unsigned long f({kinds})",
            add_options={
                angr.options.ZERO_FILL_UNCONSTRAINED_MEMORY,
                angr.options.ZERO_FILL_UNCONSTRAINED_REGISTERS,
            },
            remove_options=angr.options.refs
            | {angr.options.TRACK_CONSTRAINT_ACTIONS, angr.options.COMPOSITE_SOLVER},
        )
        rules.store(state, self.placed, RULES)
        state.solver.add(rules.are_well_formed(), rules.are_accepted())
        state.memory.store(ANSWER, claripy.BVV(0, 64 * 8))
        begin(state, ())
        state.globals["bits"] = self.layout.bits
        return state

    def widened(self, value):
        return value.zero_extend(self.pointer - value.size()) if value.size() < self.pointer else value

    def instructions(self, address):
        """The addresses of a block's instructions; a loop may begin within one."""
        if address not in self.blocks:
            is_ours = not self.project.is_hooked(address) and self.project.loader.find_object_containing(address)
            block = self.project.factory.block(address).instruction_addrs if is_ours else ()
            self.blocks[address] = frozenset(at | address & 1 for at in block) if self.is_thumb else frozenset(block)
        return self.blocks[address]

    def returned(self, state):
        if self.project.arch.name == "AMD64":
            return state.regs.rax[31:0]
        return state.regs.r0[31:0]


Paths = namedtuple("Paths", "ended again errors")


def explore(program, state):
    """Follows all paths until they return, or begin a loop anew because an exchange was lost."""
    manager = program.project.factory.simulation_manager(state, save_unsat=False)
    again = []
    while manager.active:
        for path in manager.active:
            path.globals["been"] = path.globals["been"] | {path.addr}
        manager.step()
        kept = []
        for path in manager.active:
            look_for_loss(path)
            (again if begins_again(program, path) else kept).append(path)
        manager.stashes["active"] = kept
    errors = [str(failed.error) for failed in manager.errored]
    errors += [f"jumps anywhere at {path.addr:#x}" for path in manager.stashes.get("unconstrained", [])]
    return Paths(manager.deadended, again, errors)


def look_for_loss(path):
    """Notes whether the newest exchange of this path is known to be lost."""
    events = path.globals["events"]
    exchanges = [event for event in events if event.kind == "exchange"]
    done = path.globals["decided"]
    # A branch decides it, which adds a constraint.
    known = len(path.solver.constraints)
    if done == len(exchanges) or path.globals["known"] == known:
        return
    path.globals["known"] = known
    for event in exchanges[done:]:
        succeeds = event.values[2]
        can = path.solver.satisfiable(extra_constraints=[succeeds])
        if can and path.solver.satisfiable(extra_constraints=[claripy.Not(succeeds)]):
            break
        done += 1
        if not can and event is exchanges[-1]:
            path.globals["lost"] = len(events)
    path.globals["decided"] = done


def begins_again(program, path):
    """Whether a path is back where it has been before, and nothing has happened since an exchange was lost."""
    if path.globals["lost"] != len(path.globals["events"]):
        return False
    return any(path.addr in program.instructions(address) for address in path.globals["been"])
