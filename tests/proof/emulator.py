# SPDX-License-Identifier: MIT OR Apache-2.0
"""An emulated processor, which runs one operation of a compiled program and asks a script for all that it meets.

The instructions are those of QEMU (unicorn). They read and write nothing but the program, the stack, the rules, the answer
and the word.
"""

from collections import namedtuple

import capstone
import unicorn
from capstone import arm
from elftools.elf.elffile import ELFFile
from unicorn import arm_const, riscv_const, x86_const

PAGE, STEPS = 0x1000, 200_000
WORD, RULES, ANSWER, STACK, BACK, ABROAD = range(0x7000_0000, 0x7600_0000, 0x0100_0000)
PLACES = {"word": WORD, "rules": RULES, "answer": ANSWER}
STACK_SIZE, ANSWER_SIZE = 0x1_0000, 64
KINDS = ("now", "random", "entropy")
SECTION = {"_critical_section_1_0_acquire": True, "_critical_section_1_0_release": False}
EXCLUSIVE = {
    "lock cmpxchg": "exchange",
    "ldrex": "linked",
    "lr.w": "linked",
    "strex": "conditional",
    "sc.w": "conditional",
}
# In registers and bits of which nothing may be assumed.
JUNK = 0xA5C3_96E1_5A3C_691F
# By the number of the architecture in the attributes of a program.
ARM_MODELS = {10: "M3", 11: "M0", 12: "M0", 13: "M4"}

# `link` is the register of the return address, `scratch` those that a call may change, `ret` returns from a function.
Processor = namedtuple("Processor", "emulated decoded names constants arguments scratch link pc sp ret")
PROCESSORS = {
    "x64": Processor(
        (unicorn.UC_ARCH_X86, unicorn.UC_MODE_64),
        (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        *("UC_X86_REG_", x86_const, "rdi rsi rdx rcx r8 r9", "rax rdi rsi rdx rcx r8 r9 r10 r11"),
        *(None, "rip", "rsp", b"\xc3"),
    ),
    "ARM": Processor(
        (unicorn.UC_ARCH_ARM, unicorn.UC_MODE_THUMB | unicorn.UC_MODE_MCLASS),
        (capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS),
        *("UC_ARM_REG_", arm_const, "r0 r1 r2 r3", "r0 r1 r2 r3 r12"),
        *("lr", "pc", "sp", b"\x70\x47"),
    ),
    "RISC-V": Processor(
        (unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32),
        (capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV32 | capstone.CS_MODE_RISCVC),
        *("UC_RISCV_REG_", riscv_const, "a0 a1 a2 a3 a4 a5 a6 a7", "a0 a1 a2 a3 a4 a5 a6 a7 t0 t1 t2 t3 t4 t5 t6"),
        *("ra", "pc", "sp", b"\x82\x80"),
    ),
}


class Differs(Exception):
    """A difference between a witness and its run."""


class Image:
    """The memory of a compiled program, and the places of its symbols."""

    def __init__(self, path):
        with open(path, "rb") as file:
            elf = ELFFile(file)
            self.processor = PROCESSORS[elf.get_machine_arch()]
            self.base = 0x40_0000 if elf["e_type"] == "ET_DYN" else 0
            loads = list(elf.iter_segments("PT_LOAD"))
            self.parts = [(self.base + part["p_vaddr"], part["p_memsz"]) for part in loads]
            self.begin = min(at for at, _ in self.parts) & -PAGE
            self.memory = bytearray((max(sum(part) for part in self.parts) - self.begin + PAGE - 1) & -PAGE)
            for part in loads:
                self.write(part["p_vaddr"], part.data())
            symbols = elf.get_section_by_name(".symtab").iter_symbols()
            self.symbols = {s.name: self.base + s["st_value"] for s in symbols if s["st_shndx"] != "SHN_UNDEF"}
            self.imports = []
            for table in (".rela.dyn", ".rela.plt"):
                self.relocate(elf.get_section_by_name(".dynsym"), elf.get_section_by_name(table))
            self.model = self.arm_model(elf.get_section_by_name(".ARM.attributes"))

    def write(self, place, raw):
        at = self.base + place - self.begin
        self.memory[at : at + len(raw)] = raw

    def read(self, name, count):
        """Bytes of a constant."""
        at = self.symbols[name] - self.begin
        return bytes(self.memory[at : at + count])

    def relocate(self, names, table):
        for entry in table.iter_relocations() if table else ():
            value = self.base + entry["r_addend"]
            # A symbol has a number, unless the place only moves along with the program.
            if entry["r_info_sym"]:
                symbol = names.get_symbol(entry["r_info_sym"])
                value = self.base + symbol["st_value"]
                if symbol["st_shndx"] == "SHN_UNDEF":
                    value = ABROAD + 16 * len(self.imports)
                    self.imports.append(symbol.name)
            self.write(entry["r_offset"], value.to_bytes(8, "little"))

    @staticmethod
    def arm_model(section):
        if not section:
            return None
        attributes = next(next(section.iter_subsections()).iter_subsubsections()).iter_attributes("TAG_CPU_ARCH")
        return ARM_MODELS[next(attributes).value]


class Machine:
    """An emulated processor with a program in its memory."""

    def __init__(self, path):
        self.image = image = Image(path)
        self.processor = image.processor
        self.is_x64 = self.processor.link is None
        self.mask = (1 << (64 if self.is_x64 else 32)) - 1
        self.uc = unicorn.Uc(*self.processor.emulated)
        if image.model:
            self.uc.ctl_set_cpu_model(getattr(arm_const, f"UC_CPU_ARM_CORTEX_{image.model}"))
        self.decoder = capstone.Cs(*self.processor.decoded)
        self.decoder.detail, self.decoded = True, {}
        own = [(at, PAGE) for at in (WORD, RULES, ANSWER, BACK, ABROAD)]
        for at, size in [(image.begin, len(image.memory)), (STACK, STACK_SIZE), *own]:
            self.uc.mem_map(at, size)
        self.uc.mem_write(image.begin, bytes(image.memory))
        self.calls = {ABROAD + 16 * at: name for at, name in enumerate(image.imports)}
        # The lowest bit of a place in Thumb only says that it is of Thumb.
        places = -2 if image.model else -1
        self.calls |= {image.symbols[f"env_{kind}"] & places: kind for kind in KINDS}
        self.calls |= {image.symbols[name] & places: name for name in SECTION if name in image.symbols}
        for at in self.calls:
            self.uc.mem_write(at, self.processor.ret)
        self.fault = None
        self.uc.hook_add(unicorn.UC_HOOK_CODE, self.guarded(self.instruction))
        self.uc.hook_add(unicorn.UC_HOOK_MEM_READ | unicorn.UC_HOOK_MEM_WRITE, self.guarded(self.access))

    def run(self, call, script):
        """Runs the operation of a witness; returns what it returns, and the answer."""
        self.script, self.size, rules = script, call["bits"] // 8, bytes.fromhex(call["rules"])
        self.fault, self.after, self.steps, self.linked, self.conditional, self.is_inside = None, None, 0, 0, 0, False
        self.readable = [*self.image.parts, (STACK, STACK_SIZE), (RULES, len(rules)), (ANSWER, ANSWER_SIZE)]
        self.uc.mem_write(RULES, rules)
        self.uc.mem_write(ANSWER, bytes(ANSWER_SIZE))
        self.uc.mem_write(STACK, JUNK.to_bytes(8, "little") * (STACK_SIZE // 8))
        top = self.enter(call)
        try:
            self.uc.emu_start(self.image.symbols[f"p_{call['operation']}"], BACK)
        except unicorn.UcError as error:
            self.fault = self.fault or Differs(str(error))
        pc, sp = self.get(self.processor.pc) & -2, self.get(self.processor.sp)
        if self.fault:
            raise Differs(f"{self.fault} (at {pc:#x})")
        self.settle()
        if (pc, sp, self.is_inside) != (BACK, top, False):
            raise Differs(f"ends at {pc:#x}, with the stack at {sp:#x}, not {top:#x}")
        script.end()
        return self.get(self.processor.scratch.split()[0]) & 0xFFFF_FFFF, self.uc.mem_read(ANSWER, ANSWER_SIZE)

    def enter(self, call):
        """Passes the arguments as the C of this processor does; returns the place of the stack after the return."""
        values, top = [PLACES[name] for name in call["pointers"]], STACK + STACK_SIZE - PAGE
        for at, value in enumerate(call["arguments"]):
            is_word = at == 0 and (len(call["arguments"]) > 1 or not values)
            values.append(value if is_word and self.size == 8 else value | JUNK & ~0xFFFF_FFFF)
        registers, size = self.processor.arguments.split(), 8 if self.is_x64 else 4
        self.scatter()
        for name, value in zip(registers, values):
            self.set(name, value)
        for at, value in enumerate(values[len(registers) :]):
            self.uc.mem_write(top + size * at, (value & self.mask).to_bytes(size, "little"))
        if self.is_x64:
            self.uc.mem_write(top - 8, BACK.to_bytes(8, "little"))
        else:
            self.set(self.processor.link, BACK | (self.image.model is not None))
        if self.image.model:
            # In Thumb, and not conditional.
            self.set("xpsr", 0x0100_0000)
        self.set(self.processor.sp, top - 8 * self.is_x64)
        return top

    def guarded(self, hook):
        """A hook that stops the processor at the first difference."""

        def run(uc, *told):
            if self.fault:
                return
            try:
                hook(*told)
            except Differs as differs:
                self.fault = differs
                uc.emu_stop()

        return run

    def register(self, name):
        return getattr(self.processor.constants, self.processor.names + name.upper())

    def get(self, name):
        return self.uc.reg_read(self.register(name))

    def set(self, name, value):
        self.uc.reg_write(self.register(name), value & self.mask)

    def scatter(self):
        """Leaves numbers of no meaning, as any call may."""
        for at, name in enumerate(self.processor.scratch.split()):
            self.set(name, JUNK + at)

    def peek(self):
        return int.from_bytes(self.uc.mem_read(WORD, self.size), "little")

    def poke(self, value):
        self.uc.mem_write(WORD, value.to_bytes(self.size, "little"))

    def instruction(self, address, size, _):
        """Each instruction, before it runs."""
        self.settle()
        self.steps += 1
        if self.steps > STEPS:
            raise Differs(f"does not return within {STEPS} instructions")
        if address in self.calls:
            self.call(self.calls[address])
        if address not in self.decoded:
            self.decoded[address] = self.decode(address, size)
        self.kind, decoded = self.decoded[address]
        self.leave_condition(decoded)
        if self.kind and self.kind != "linked" and self.place(decoded) == WORD:
            self.exchange(decoded)

    def decode(self, address, size):
        """The kind of an instruction that may be part of an exchange."""
        decoded = next(self.decoder.disasm(bytes(self.uc.mem_read(address, size)), address), None)
        name = decoded.mnemonic if decoded else ""
        # RISC-V tells the ordering, too.
        return EXCLUSIVE.get(name[:4] if name.startswith(("lr.", "sc.")) else name), decoded

    def leave_condition(self, decoded):
        """Repairs unicorn, which takes what follows after a Thumb `it` and a branch for conditional, too."""
        if self.conditional:
            self.conditional -= 1
            self.set("xpsr", self.get("xpsr") & ~0x0600_FC00)
        if self.image.model and decoded and decoded.id == arm.ARM_INS_IT:
            self.conditional = len(decoded.mnemonic)

    @staticmethod
    def name(decoded, at):
        return decoded.reg_name(decoded.operands[at].reg)

    def place(self, decoded):
        """The address that an exchange is of."""
        (memory,) = [o.mem for o in decoded.operands if o.type == capstone.CS_OP_MEM] or [None]
        if not memory:
            # An atomic instruction of RISC-V.
            return self.get(self.name(decoded, 2))
        parts = [(memory.base, 1), (memory.index, memory.scale)]
        return sum([by * self.get(decoded.reg_name(of)) for of, by in parts if of], memory.disp) & self.mask

    def exchange(self, decoded):
        """Makes an exchange of the word find what the script says; what it must leave is looked at afterwards."""
        new = self.get(self.name(decoded, 1))
        if self.kind == "exchange":
            size = decoded.operands[0].size
            if size != self.size:
                raise Differs(f"exchanges {size} bytes of the word")
            accumulator = {8: "rax", 4: "eax"}[size]
            expected = self.get(accumulator)
            found = self.script.exchange(expected, new)
            self.after = new if found == expected else found, accumulator, found
        else:
            won = self.script.conditional(new)
            # The processor takes it for lost if the word is another than the one it was linked with.
            found = self.linked if won else self.linked ^ 1
            self.after = new if won else found, self.name(decoded, 0), int(not won)
        self.poke(found)

    def settle(self):
        """Looks at what an exchange has left."""
        if self.after:
            word, name, result = self.after
            self.after = None
            left = self.peek(), self.get(name)
            if left != (word, result):
                raise Differs(f"an exchange leaves {left[0]:#x} and {left[1]:#x} in {name}, not {word:#x} and {result:#x}")

    def access(self, access, address, size, value, _):
        """Each access to the memory, before it is made."""
        is_write = access == unicorn.UC_MEM_WRITE
        if not (address < WORD + self.size and WORD < address + size):
            self.check(address, size, is_write)
        elif (address, size) != (WORD, self.size):
            raise Differs(f"accesses {size} bytes of the word")
        elif self.after:
            # Within an exchange.
            return
        elif is_write:
            if not self.is_inside:
                raise Differs("stores the word outside of a critical section")
            self.script.store(value & ((1 << 8 * size) - 1))
        else:
            found = self.script.load()
            self.poke(found)
            self.linked = found if self.kind == "linked" else self.linked

    def check(self, address, size, is_write):
        allowed = [(STACK, STACK_SIZE), (ANSWER, ANSWER_SIZE)] if is_write else self.readable
        if not any(begin <= address and address + size <= begin + count for begin, count in allowed):
            raise Differs(f"{'writes' if is_write else 'reads'} {size} bytes at {address:#x}")

    def call(self, name):
        """Functions outside of the program."""
        result, copied = self.processor.scratch.split()[0], "memcpy memmove memset bcmp memcmp".split()
        if name in KINDS:
            number = self.script.number(name)
        elif name in SECTION:
            if self.is_inside == SECTION[name]:
                raise Differs(f"{name} twice")
            self.is_inside, number = SECTION[name], JUNK
        elif name in copied:
            number = self.copy(name, *(self.get(register) for register in ("rdi", "rsi", "rdx")))
        else:
            raise Differs(f"calls {name}")
        self.scatter()
        self.set(result, number)

    def copy(self, name, to, source, count):
        """Functions of the C library."""
        raw = bytes([source & 0xFF]) * count
        if name != "memset":
            self.check(source, count, False)
            raw = bytes(self.uc.mem_read(source, count))
        self.check(to, count, name.startswith("mem") and name != "memcmp")
        if name in ("bcmp", "memcmp"):
            there = bytes(self.uc.mem_read(to, count))
            return (there > raw) - (there < raw)
        self.uc.mem_write(to, raw)
        return to
