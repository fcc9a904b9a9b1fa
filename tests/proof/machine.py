# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a compiled function with everything free that comes from outside.

The word lies at `WORD`. Each load of it and each exchange finds a number of its own, which may be any: other threads may
have written in between, as often as they like. What happens is kept as events, in order:

    load VALUE · exchange EXPECTED NEW · now MS · random BITS · entropy BITS

Where ways meet again on which the same kinds of events have happened, they go on as one, whose numbers are choices between
those of both. So there are as many ends of a function as there are sequences of events, not as there are ways through it.
An exchange that is lost ends a turn of the loop: see `loop`.
"""

import heapq

import pypcode

from exchange import Exchanges
from pcode import PLAIN
from program import Blocks
from state import BITS, MOST_EVENTS, Bytes, Event, Fault, Frame, State, add_known, is_near, merged, settle
from terms import TRUE, If, Not, add, equal, extract, fresh, is_set, number, variable, widened

WORD, RULES, ANSWER, STACK, END = 0x7000_0000, 0x7100_0000, 0x7200_0000, 0x7F00_0000, 0x7FFF_0000

code = pypcode.OpCode

# Its first reading.
CLOCK = "now_first"


class Machine(Exchanges):
    """Runs one program for one word."""

    def __init__(self, program, layout, solver):
        self.program, self.layout, self.solver = program, layout, solver
        self.target = program.target
        self.blocks, self.hooks, self.pairs = {}, {}, {}
        for kind in ("now", "random", "entropy"):
            if f"env_{kind}" in program.symbols:
                self.hooks[program.find(f"env_{kind}")] = kind
        for name, address in program.outside.items():
            self.hooks[address] = name
        for name, address in program.symbols.items():
            for hook in ("_critical_section_1_0_acquire", "_critical_section_1_0_release"):
                if name == hook:
                    self.hooks[address & ~1] = hook
        self.errors, self.most_steps, self.asked, self.growth = [], 0, None, None
        # Memory beside the word that only this call uses.
        self.kept = range(0)

    def stand_in(self, growth):
        """Has calls of a function answered by `growth`."""
        self.growth = growth
        self.hooks[self.program.find(growth.symbol)] = "growth"

    # States.

    def start(self, name, arguments):
        """The state in which a function is called."""
        state = State.__new__(State)
        state.at, state.index = self.program.find(name), 0
        state.registers, state.memory, state.scratch = Bytes("registers"), Bytes("memory"), Bytes("scratch")
        state.known, state.events, state.exchange, state.steps, state.is_asked = (), (), None, 0, False
        state.frames = (Frame(state.at, END),)
        size = self.target.bits
        for register, value in zip(self.target.arguments, arguments):
            self.set(state, register, widened(value, size) if not isinstance(value, int) else number(value, size))
        passed = arguments[len(self.target.arguments) :]
        # Aligned as all calling conventions have it.
        top = STACK - (len(passed) * size // BITS + 15) // 16 * 16
        for k, value in enumerate(passed):
            state.memory.write(top + k * size // BITS, widened(value, size))
        if self.target.link:
            self.set(state, self.target.link, number(END | self.program.is_thumb, size))
        else:
            top -= size // BITS
            state.memory.write(top, number(END, size))
        if "DF" in self.program.registers:
            self.set(state, "DF", number(0, 8))
        self.set(state, self.target.stack, number(top, size))
        return state

    def set(self, state, register, value):
        offset, size = self.program.registers[register]
        state.registers.write(offset, value)

    def get(self, state, register):
        return state.registers.read(*self.program.registers[register])

    def can(self, state, *more):
        return self.solver.possible([*state.known, *more])

    # Scheduling.

    def blocks_of(self, entry):
        if entry not in self.blocks:
            self.blocks[entry] = Blocks(self.program, entry)
        return self.blocks[entry]

    def order(self, state):
        """Callees first, then as the blocks lie."""
        ranks = []
        for frame, at in zip(state.frames, [f.back for f in state.frames[1:]] + [state.at]):
            ranks.append(self.blocks_of(frame.entry).rank_of(at))
        return (*ranks, float("inf")), state.at, state.index

    def explore(self, starts):
        """Yields each end of the function, and each lost exchange: ("ended" or "lost", state)."""
        waiting, queue, count = {}, [], 0

        def put(state):
            nonlocal count
            key = (state.at, state.index, state.frames, state.shape)
            while key in waiting:
                if is_near(waiting[key], state):
                    waiting[key] = merged(waiting[key], state)
                    return
                key = (*key, 0)
            waiting[key] = state
            count += 1
            heapq.heappush(queue, (self.order(state), count, key))

        for state in starts:
            put(state)
        while queue:
            _, _, key = heapq.heappop(queue)
            state = waiting.pop(key)
            try:
                for kind, found in self.run(state):
                    if kind == "goes on":
                        put(found)
                    else:
                        yield kind, found
            except Fault as fault:
                if self.can(state):
                    self.errors.append(f"{fault} at {state.at:#x}")

    def run(self, state):
        """Runs until the state forks, ends, or comes where ways meet."""
        while True:
            if state.at in self.hooks and state.index == 0:
                yield from self.outside(state, self.hooks[state.at])
                return
            try:
                instruction = self.program.instruction(state.at)
            except ValueError as error:
                raise Fault(f"runs into {error}") from error
            done = yield from self.execute(state, instruction)
            if done:
                return
            state.at, state.index = instruction.end, 0
            state.scratch = Bytes("scratch")
            state.steps += 1
            self.most_steps = max(self.most_steps, state.steps)
            if state.at in self.blocks_of(state.frames[-1].entry).starts:
                if self.asked:
                    self.asked.look(state)
                yield "goes on", state
                return

    # One instruction.

    def value(self, state, place):
        space = place.space.name
        if space == "const":
            return number(place.offset, place.size * BITS)
        if space == "register":
            return state.registers.read(place.offset, place.size)
        if space == "unique":
            return state.scratch.read(place.offset, place.size)
        return self.load(state, number(place.offset, self.target.bits), place.size)

    def store_to(self, state, place, value):
        space = place.space.name
        assert value.size == place.size * BITS, (value.size, place.size)
        if space == "register":
            state.registers.write(place.offset, value)
        elif space == "unique":
            state.scratch.write(place.offset, value)
        else:
            self.store(state, number(place.offset, self.target.bits), value)

    def execute(self, state, instruction):
        """Returns whether the state goes on elsewhere than behind the instruction."""
        ops = instruction.ops
        if state.index == 0 and instruction.reserves is not None:
            self.reserve(state, instruction)
        while state.index < len(ops):
            op = ops[state.index]
            kind = op.opcode
            if kind in PLAIN:
                arguments = [self.value(state, place) for place in op.inputs]
                self.store_to(state, op.output, PLAIN[kind](op.output.size * BITS, *arguments))
            elif kind == code.LOAD:
                self.store_to(state, op.output, self.load(state, self.value(state, op.inputs[1]), op.output.size))
            elif kind == code.STORE:
                self.store(state, self.value(state, op.inputs[1]), self.value(state, op.inputs[2]))
            elif kind == code.CBRANCH:
                forks = self.branch(state, instruction, op)
                if forks is not None:
                    yield from forks
                    return True
                continue
            elif kind == code.BRANCH:
                begun = state.index
                if self.jump(state, op.inputs[0]):
                    yield "goes on", state
                    return True
                # A loop within an instruction, as of one that looks for a bit: as long as it goes on.
                if state.index <= begun and not self.can(state):
                    return True
                continue
            elif kind in (code.CALL, code.CALLIND):
                yield from self.call(state, instruction, op)
                return True
            elif kind in (code.RETURN, code.BRANCHIND):
                yield from self.indirect(state, instruction, self.value(state, op.inputs[0]))
                return True
            elif kind == code.CALLOTHER:
                forks = self.special(state, op.inputs[0].getUserDefinedOpName(), op)
                if forks is not None:
                    yield from forks
                    return True
            else:
                raise Fault(f"{kind.name} is not modelled")
            state.index += 1
        return False

    def jump(self, state, place):
        """Moves the state; returns whether out of the instruction."""
        if place.space.name == "const":
            offset = place.offset - (1 << 8 * place.size) if place.offset >> (8 * place.size - 1) else place.offset
            state.index += offset
            return False
        state.at, state.index, state.scratch = place.offset, 0, Bytes("scratch")
        return True

    def branch(self, state, instruction, op):
        """Both ways, as far as they can be taken; `None` if the state itself has moved on."""
        when = is_set(self.value(state, op.inputs[1]))
        place = op.inputs[0]
        if when.op == "const":
            if when.args[0]:
                return [("goes on", state)] if self.jump(state, place) else None
            state.index += 1
            return None
        is_short = place.space.name == "const" or place.offset == instruction.end
        taken, not_taken = state.copy(), state
        taken.known, not_taken.known = add_known(state.known, when), add_known(state.known, Not(when))
        if state.exchange is not None:
            # The flags that say so outlive the values that were compared.
            settle(taken.registers, when, 1)
            settle(not_taken.registers, when, 0)
        forks = []
        can_be_taken = is_short or self.can(taken)
        if can_be_taken:
            self.jump(taken, place)
            forks.append(("goes on", taken))
        if is_short or not can_be_taken or self.can(not_taken):
            not_taken.index += 1
            forks.append(("goes on", not_taken))
        if state.exchange is not None and all(value is not None for value in state.exchange):
            return self.decided([fork for _, fork in forks])
        return forks

    def decided(self, forks):
        """Says of each state, after a branch within an exchange of several instructions, whether it is lost."""
        for fork in forks:
            expected, found = fork.exchange
            is_lost = fork.known and not self.can(fork, equal(expected, found))
            yield ("lost" if is_lost else "goes on"), fork

    def call(self, state, instruction, op):
        if op.opcode == code.CALL:
            target = op.inputs[0].offset
        else:
            target = self.only(state, self.value(state, op.inputs[0]))
        if op.opcode != code.CALL or not self.program.is_far_jump(target):
            state.frames = (*state.frames, Frame(target, instruction.end))
        state.at, state.index, state.scratch = target, 0, Bytes("scratch")
        yield "goes on", state

    def only(self, state, term):
        if term.op != "const":
            raise Fault("calls anywhere")
        return term.args[0] & ~1 if self.program.is_thumb else term.args[0]

    def indirect(self, state, instruction, target):
        """A return, a jump through a pointer, or one through a table."""
        for address, when in self.each(state, target, "jumps anywhere"):
            fork = state.copy()
            fork.known = add_known(fork.known, when)
            if self.program.is_thumb:
                address &= ~1
            frame = fork.frames[-1]
            fork.index, fork.scratch, fork.at = 0, Bytes("scratch"), address
            if address == frame.back & ~1 if self.program.is_thumb else address == frame.back:
                fork.frames = fork.frames[:-1]
                if not fork.frames:
                    yield "ended", fork
                    continue
            elif address not in self.hooks:
                self.blocks_of(frame.entry).learn(instruction.at, address)
            yield "goes on", fork

    def each(self, state, term, fault):
        """The values of a term, with the condition of each."""
        if term.op == "const":
            yield term.args[0], TRUE
            return
        known = []
        while self.solver.satisfiable([*state.known, *[Not(equal(term, number(v, term.size))) for v in known]]):
            if len(known) == 64:
                raise Fault(fault)
            known.append(self.solver.model([term])[0])
        for value in known:
            yield value, equal(term, number(value, term.size))

    # Memory.

    def load(self, state, address, count):
        if address.op != "const":
            result = None
            for value, when in self.each(state, address, "loads from anywhere"):
                found = self.load(state, number(value, address.size), count)
                result = found if result is None else If(when, found, result)
            if result is None:
                raise Fault("a way that cannot be taken")
            return result
        at = address.args[0]
        if at == WORD and count * BITS == self.layout.bits:
            if len(state.events) > MOST_EVENTS:
                raise Fault("does not come to an end")
            value = fresh("seen", count * BITS)
            if state.exchange is None:
                value = self.first(state, "load", value)
                state.events += (Event("load", (value,)),)
            elif state.exchange[1] is None:
                # Of a compare-and-swap, the linked load, or in a critical section: the value that it finds.
                state.exchange = (state.exchange[0], value)
            else:
                raise Fault("a second load within an exchange")
            return value
        if WORD <= at < WORD + self.layout.bits // BITS:
            raise Fault("loads a part of the word")
        if at not in state.memory.at:
            data = self.program.read(at, count)
            if data is not None:
                return number(int.from_bytes(data, "little"), count * BITS)
            if not STACK - 0x10000 <= at < STACK + 0x1000 and not ANSWER <= at < ANSWER + 256:
                raise Fault(f"loads from {at:#x}")
        return state.memory.read(at, count)

    def store(self, state, address, value):
        if address.op != "const":
            places = list(self.each(state, address, "stores anywhere"))
            if any(WORD <= place < WORD + 8 for place, _ in places):
                raise Fault("may store to the word")
            for place, when in places:
                there = number(place, address.size)
                self.store(state, there, If(when, value, self.load(state, there, value.size // BITS)))
            return
        at = address.args[0]
        if at == WORD and value.size == self.layout.bits:
            if state.exchange is None or state.exchange[1] is None:
                raise Fault("the word is changed by exchanges only")
            expected, found = state.exchange
            state.events += (Event("exchange", (found, value), state.at),)
            state.exchange = None
            return
        if at in self.kept and at + value.size // BITS <= self.kept.stop:
            state.events += (Event("mark", (value,)),)
        elif not STACK - 0x10000 <= at < STACK and not ANSWER <= at < ANSWER + 256:
            raise Fault(f"stores to {at:#x}")
        state.memory.write(at, value)

    @staticmethod
    def first(state, kind, value):
        """The first of a kind has the same name on all ways, so that what is known of it can be joined."""
        if kind in ("load", "now") and all(event.kind != kind for event in state.events):
            return variable("seen_first" if kind == "load" else CLOCK, value.size)
        return value

    def seen(self, state):
        """The value that this turn of the loop has read; `None` before the first load."""
        for event in reversed(state.events):
            if event.kind == "load":
                return event.values[0]
            if event.kind == "exchange":
                return event.values[1]
        return None

    # What p-code leaves to others.

    def outside(self, state, name):
        """A function that is not run: time and chance, copies of memory."""
        back = state.frames[-1].back
        if name == "growth":
            yield from self.growth.calls(self, state)
            return
        if state.exchange is not None and name != "_critical_section_1_0_release":
            raise Fault(f"calls {name} within an exchange")
        if name in ("now", "random", "entropy"):
            value = self.first(state, name, fresh(name, 32))
            state.events += (Event(name, (value,), back if name == "now" else None),)
            self.set(state, self.target.answer, widened(value, self.target.bits))
        elif name == "memcpy":
            to, source, count = (self.get(state, r) for r in self.target.arguments[:3])
            for k in range(self.only(state, count)):
                place = number(k, to.size)
                self.store(state, add(to, place), self.load(state, add(source, place), 1))
            self.set(state, self.target.answer, to)
        elif name == "memset":
            to, byte, count = (self.get(state, r) for r in self.target.arguments[:3])
            for k in range(self.only(state, count)):
                self.store(state, add(to, number(k, to.size)), extract(byte, 0, 8))
            self.set(state, self.target.answer, to)
        elif name == "_critical_section_1_0_acquire":
            self.link(state)
            self.set(state, self.target.answer, number(0, self.target.bits))
        elif name == "_critical_section_1_0_release":
            self.only_read(state)
        else:
            raise Fault(f"calls {name}")
        if not self.target.link:
            stack = self.get(state, self.target.stack)
            self.set(state, self.target.stack, add(stack, number(self.target.bits // BITS, stack.size)))
        state.frames = state.frames[:-1]
        state.at, state.index = back, 0
        if not state.frames:
            yield "ended", state
        else:
            yield "goes on", state
