# SPDX-License-Identifier: MIT OR Apache-2.0
"""A compiled program: its bytes, symbols, and instructions as p-code, the form into which Ghidra's SLEIGH puts machine code.

P-code has some sixty operations for all processors alike, and says of each instruction all that it does, flags included.
"""

import bisect
from collections import namedtuple

import pypcode
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection

# `stack`, `answer` and `arguments` are registers by name.
Target = namedtuple("Target", "language stack answer arguments link bits")

TARGETS = {
    "EM_X86_64": Target("x86:LE:64:default", "RSP", "RAX", "RDI RSI RDX RCX R8 R9".split(), None, 64),
    "EM_ARM": Target("ARM:LE:32:Cortex", "sp", "r0", "r0 r1 r2 r3".split(), "lr", 32),
    "EM_RISCV": Target("RISCV:LE:32:RV32IMC", "sp", "a0", "a0 a1 a2 a3 a4 a5 a6 a7".split(), "ra", 32),
}

# Functions of other libraries are called at these addresses.
OUTSIDE = 0x6000_0000


class Instruction:
    __slots__ = ("at", "end", "ops", "reserves")

    def __init__(self, at, end, ops, reserves):
        """`reserves` is 1 if it is the linked load of a pair that changes memory only if it was not disturbed, 0 if it is
        the store, and `None` for all others."""
        self.at, self.end, self.ops, self.reserves = at, end, ops, reserves


class Program:
    def __init__(self, path):
        self.segments, self.symbols, self.outside, self.parts, self.ends = [], {}, {}, [], set()
        with open(path, "rb") as file:
            elf = ELFFile(file)
            self.target = TARGETS[elf["e_machine"]]
            for segment in elf.iter_segments("PT_LOAD"):
                data = bytearray(segment.data().ljust(segment["p_memsz"], b"\0"))
                self.segments.append((segment["p_vaddr"], data))
            for section in elf.iter_sections("SHT_SYMTAB"):
                for symbol in section.iter_symbols():
                    if symbol["st_shndx"] == "SHN_UNDEF" or not symbol.name:
                        continue
                    if symbol.name.startswith("$"):
                        self.parts.append((symbol["st_value"] & ~1, symbol.name.startswith("$d")))
                    else:
                        self.symbols[symbol.name] = symbol["st_value"]
                        self.ends.add((symbol["st_value"] & ~1) + symbol["st_size"])
            for section in elf.iter_sections():
                if isinstance(section, RelocationSection) and section["sh_flags"] & 2:
                    if self.target.bits != 64:
                        raise ValueError("a library for a processor of 32 bits")
                    self.relocate(section, elf.get_section(section["sh_link"]))
        self.parts.sort()
        self.is_thumb = self.target.language.startswith("ARM")
        self.context = pypcode.Context(self.target.language)
        if self.is_thumb:
            self.context.setVariableDefault("TMode", 1)
        self.registers = {name: (vn.offset, vn.size) for name, vn in self.context.registers.items()}
        self.reserve = self.registers.get("RESERVE", (None, 0))[0]
        self.functions = {value & ~1 for value in self.symbols.values()}
        self.instructions, self.unclear = {}, set()

    def relocate(self, section, symbols):
        """Pointers of a library that was loaded at address 0."""
        for relocation in section.iter_relocations():
            kind, at = relocation["r_info_type"], relocation["r_offset"]
            symbol = symbols.get_symbol(relocation["r_info_sym"]) if relocation["r_info_sym"] else None
            if kind == 8:
                value = relocation["r_addend"]
            elif kind in (1, 6, 7) and symbol["st_shndx"] == "SHN_UNDEF":
                value = self.outside.setdefault(symbol.name, OUTSIDE + 16 * len(self.outside))
            elif kind in (1, 6, 7):
                value = symbol["st_value"] + (relocation["r_addend"] if kind == 1 else 0)
            else:
                continue
            for begin, data in self.segments:
                if begin <= at < begin + len(data):
                    data[at - begin : at - begin + 8] = value.to_bytes(8, "little")

    def find(self, name):
        return self.symbols[name] & ~1 if self.is_thumb else self.symbols[name]

    def is_far_jump(self, target):
        """Whether a call leads into the middle of a function: the smallest processors jump far by calls."""
        return self.is_thumb and target not in self.functions

    def read(self, address, count):
        """Bytes of the image; `None` if there are none."""
        for begin, data in self.segments:
            if begin <= address and address + count <= begin + len(data):
                return bytes(data[address - begin : address - begin + count])
        return None

    def code_at(self, at):
        """Bytes of instructions: they end where data begins, of which the compiler leaves notes on some processors."""
        k = bisect.bisect_right(self.parts, (at, True))
        if k and self.parts[k - 1][1]:
            raise ValueError(f"data at {at:#x}")
        end = next((place for place, is_data in self.parts[k:] if is_data), at + 512)
        for begin, data in self.segments:
            if begin <= at < begin + len(data):
                return data[at - begin :][: min(512, end - at)]
        raise ValueError(f"nothing at {at:#x}")

    def reserves(self, ops):
        for op in ops:
            if is_register(op.output) and op.output.offset == self.reserve:
                return op.inputs[0].offset
        return None

    def outputs(self, instruction):
        """The registers that it writes, but those in which the processor keeps the address of a linked load."""
        kept = [self.registers[name][0] for name in ("RESERVE", "RESERVE_ADDRESS", "RESERVE_LENGTH")]
        written = [op.output for op in instruction.ops if is_register(op.output)]
        return [place for place in written if place.offset not in kept]

    def instruction(self, at):
        """The instruction at an address. Those up to the next branch are read together, as one may depend on the one
        before it (`it` of Thumb)."""
        found = self.instructions.get(at)
        if found is None:
            data = self.code_at(at)
            flags = pypcode.TranslateFlags.BB_TERMINATING
            try:
                ops = self.context.translate(bytes(data), at, flags=flags).ops
            except pypcode.LowlevelError as error:
                raise ValueError(f"no instruction at {at:#x}") from error
            mark = pypcode.OpCode.IMARK
            starts = [k for k, op in enumerate(ops) if op.opcode == mark] + [len(ops)]
            for begin, end in zip(starts, starts[1:]):
                # One mark may name several instructions (delay slots); none of these processors has them.
                place = ops[begin].inputs[0]
                after = place.offset + place.size
                inner = ops[begin + 1 : end]
                if place.offset not in self.instructions:
                    self.instructions[place.offset] = Instruction(place.offset, after, inner, self.reserves(inner))
                elif [str(op) for op in inner] != [str(op) for op in self.instructions[place.offset].ops]:
                    # One of them was read without the instruction that it depends on.
                    self.unclear.add(place.offset)
            found = self.instructions[at]
        if at in self.unclear:
            raise ValueError(f"an instruction that reads in two ways at {at:#x}")
        return found


class Blocks:
    """The blocks of a function in an order in which a loop is left only once it is over.

    This is Bourdoncle's weak topological order: a state waits where ways meet until all others have come that can.
    """

    def __init__(self, program, entry):
        self.program, self.entry = program, entry
        self.learned = {}
        self.arrange()

    def learn(self, at, target):
        """A jump through a table leads there, too."""
        targets = self.learned.setdefault(at, set())
        if target not in targets:
            targets.add(target)
            self.arrange()

    def arrange(self):
        starts, edges, todo = {self.entry}, {}, [self.entry]
        seen = set()
        while todo:
            start = todo.pop()
            if start in seen:
                continue
            seen.add(start)
            at = start
            while True:
                try:
                    instruction = self.program.instruction(at)
                except Exception:
                    # Data, or behind a call that never returns.
                    targets, goes_on = set(), False
                    break
                targets, goes_on, ends = self.leads(instruction)
                if ends:
                    break
                at = instruction.end
                if at in starts:
                    targets, goes_on = {at}, False
                    break
            if goes_on:
                targets = targets | {instruction.end}
            edges[start] = targets
            for target in targets:
                if target not in starts:
                    starts.add(target)
                    todo.append(target)
                    # Within a block that was followed already: that one ends here now.
                    for other in [s for s in seen if s < target]:
                        if self.spans(other, target, edges):
                            seen.discard(other)
                            todo.append(other)
        self.starts, self.edges = starts, edges
        self.rank = {}
        self.order()

    def spans(self, start, target, edges):
        at = start
        while at < target:
            instruction = self.program.instructions.get(at)
            if instruction is None or (self.leads(instruction)[2] and instruction.end <= target):
                return False
            at = instruction.end
        return at == target

    def leads(self, instruction):
        """Where an instruction leads, whether also to the next, and whether a block ends here."""
        targets, goes_on, ends = set(self.learned.get(instruction.at, ())), True, False
        code = pypcode.OpCode
        for k, op in enumerate(instruction.ops):
            place = op.inputs[0] if op.inputs else None
            if op.opcode in (code.BRANCH, code.CBRANCH):
                if place.space.name == "const":
                    continue
                ends = True
                targets.add(place.offset)
                # Unconditional, unless a part of the instruction jumps over it.
                if op.opcode == code.BRANCH and not skips(instruction.ops, k):
                    goes_on = False
            elif op.opcode in (code.CALL, code.CALLIND):
                ends = True
                # At the end of a function there is padding, or the next function, behind a call that never returns.
                if instruction.end in self.program.ends:
                    goes_on = False
                if op.opcode == code.CALL and self.program.is_far_jump(place.offset):
                    targets.add(place.offset)
                    if not skips(instruction.ops, k):
                        goes_on = False
            elif op.opcode in (code.RETURN, code.BRANCHIND):
                ends = True
                if not skips(instruction.ops, k):
                    goes_on = False
        return targets, goes_on, ends

    def order(self):
        """Numbers the blocks."""
        numbers, stack, count, order = {}, [], [0], []

        def successors(block):
            return sorted(self.edges.get(block, ()))

        def visit(block, partition):
            stack.append(block)
            count[0] += 1
            head = numbers[block] = count[0]
            is_loop = False
            for other in successors(block):
                least = visit(other, partition) if numbers.get(other, 0) == 0 else numbers[other]
                if least <= head:
                    head, is_loop = least, True
            if head == numbers[block]:
                numbers[block] = float("inf")
                element = stack.pop()
                if is_loop:
                    while element != block:
                        numbers[element] = 0
                        element = stack.pop()
                    inner = []
                    for other in successors(block):
                        if numbers.get(other, 0) == 0:
                            visit(other, inner)
                    partition.append((block, list(reversed(inner))))
                else:
                    partition.append(block)
            return head

        visit(self.entry, order)
        flat = []

        def flatten(items):
            for item in items:
                if isinstance(item, tuple):
                    flat.append(item[0])
                    flatten(item[1])
                else:
                    flat.append(item)

        flatten(list(reversed(order)))
        self.rank = {block: k for k, block in enumerate(flat)}
        self.sorted = sorted(self.rank)

    def rank_of(self, at):
        """That of the block in which an address lies."""
        k = bisect.bisect_right(self.sorted, at) - 1
        return self.rank[self.sorted[k]] if k >= 0 else len(self.sorted)


def is_register(place):
    return place is not None and place.space.name == "register"


def skips(ops, at):
    """Whether an earlier part of the instruction jumps over this one, so that the next instruction may follow."""
    return any(op.opcode == pypcode.OpCode.CBRANCH for op in ops[:at])
