# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exchanges, as processors make them: one instruction, a linked load with a conditional store, or a critical section."""

import pypcode

from pcode import PLAIN
from state import BITS, Event, Fault
from terms import Not, equal, fresh, number

code = pypcode.OpCode


class Exchanges:
    """A part of the machine."""

    def special(self, state, name, op):
        """Returns ways to go on, or `None` behind the operation."""
        if name == "LOCK":
            state.exchange = (None, None)
        elif name == "UNLOCK":
            if state.exchange is not None:
                state.index += 1
                return [("lost", state)]
        elif name == "ExclusiveAccess":
            self.link(state)
        elif name == "hasExclusiveAccess":
            self.only_linked(state)
            won, lost = state, state.copy()
            self.store_to(lost, op.output, number(0, op.output.size * BITS))
            self.store_to(won, op.output, number(1, op.output.size * BITS))
            lost.index += 1
            won.index += 1
            return [("lost", lost), ("goes on", won)]
        elif name == "ClearExclusiveLocal":
            self.only_read(state)
        elif name == "setISAMode":
            if self.program.is_thumb and not is_one(self.get(state, "TB")):
                raise Fault("instructions of another kind")
        elif name in ("DataMemoryBarrier", "DataSynchronizationBarrier", "InstructionSynchronizationBarrier", "fence"):
            pass
        else:
            raise Fault(f"{name} is not modelled")
        return None

    # Exchanges of several instructions.

    def link(self, state):
        """A linked load follows, or a critical section begins."""
        if state.exchange is not None:
            raise Fault("an exchange within an exchange")
        seen = self.seen(state)
        # Without a load before, this is one.
        state.exchange = None if seen is None else (seen, None)

    def only_linked(self, state):
        if state.exchange is None or state.exchange[1] is None:
            raise Fault("a store without its load")

    def only_read(self, state):
        """An exchange that stored nothing has loaded the word."""
        if state.exchange is not None and state.exchange[1] is not None:
            state.events += (Event("load", (state.exchange[1],)),)
        state.exchange = None

    def reserve(self, state, instruction):
        """The pair of RISC-V, whose store may fail without another thread, and which then begins anew at its load.

        What the instructions of the pair write is forgotten before the load, and they change nothing else, so that the state
        behind a store that failed is among those that are at the load already. Therefore it needs not be followed, if that
        is where it leads.
        """
        if instruction.reserves:
            self.link(state)
            for place in self.pair(instruction):
                for k in range(place.size):
                    state.registers.write(place.offset + k, fresh("again", BITS))
            return
        self.only_linked(state)
        first = self.pairs.get(instruction.at)
        if first is None or self.enters(state, first, instruction.at):
            raise Fault("a conditional store that is not behind its load alone")
        results = {(place.offset, place.size) for place in self.program.outputs(instruction)}
        if len(results) != 1:
            raise Fault("a conditional store without a result")
        failed, told = state.copy(), fresh("failed", self.target.bits)
        failed.registers.write(results.pop()[0], told)
        failed.exchange, failed.known = None, (Not(equal(told, number(0, told.size))),)
        failed.at = instruction.end
        after = self.program.instruction(failed.at)
        ways = list(self.execute(failed, after))
        if self.program.outputs(after) or [(kind, way.at) for kind, way in ways] != [("goes on", first)]:
            raise Fault("a conditional store that fails and goes on")

    def pair(self, load):
        """The registers that a pair writes, from a linked load to the store behind it."""
        found, here, leads = [], load, []
        for _ in range(16):
            found += self.program.outputs(here)
            if here.reserves == 0:
                if any(load.at <= target <= here.at for target in leads):
                    raise Fault("a pair with a loop within")
                if self.pairs.setdefault(here.at, load.at) != load.at:
                    raise Fault("one conditional store of two loads")
                return found
            for op in here.ops:
                if op.opcode == code.CBRANCH and op.inputs[0].space.name != "const":
                    leads.append(op.inputs[0].offset)
                elif op.opcode not in PLAIN and not (here is load and op.opcode == code.LOAD):
                    raise Fault(f"{op.opcode.name} between a linked load and its store")
            here = self.program.instruction(here.end)
        raise Fault("a linked load without a store")

    def enters(self, state, load, store):
        """Whether a jump leads between the two."""
        for start, targets in self.blocks_of(state.frames[-1].entry).edges.items():
            if not load <= start <= store and any(load < target <= store for target in targets):
                return True
        return False


def is_one(term):
    return term.op == "const" and term.args[0] == 1
