# SPDX-License-Identifier: MIT OR Apache-2.0
"""Faults that are put into the code, and into the specification: the prover must find each, with an example that is real.

    seeded.py [wide|narrow|specification] [NAME PART ..]

All faults of the code are in one program, which chooses one by a number in its memory. An example is real if the compiled
code does with its numbers, in an emulated processor, what the machine says of it, which is not what the specification says.
"""

import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import loop
from elftools.elf.elffile import ELFFile
from faults import FAULTS, OF_SPECIFICATION
from state import Fault as Unmodelled
from program import Program
from prove import WITH_TIME, Proof
from replay import emulate
from terms import TRUE, And, Not, number, variable
from witness import Exact, Witnesses, begin, ends

sys.setrecursionlimit(100_000)

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "proof"
COPY = TARGET / "seeded"
CHOSEN = (0x5EED_F417).to_bytes(4, "little")
CHOICE = """
/// The fault that is chosen.
#[allow(missing_docs, unsafe_code)]
#[unsafe(no_mangle)]
pub static mut SEEDED: [u32; 2] = [0x5EED_F417, 0];

/// 1 if this fault is chosen, else 0.
#[allow(unsafe_code)]
#[inline(always)]
pub(crate) fn seeded(fault: u32) -> u32 {
    (unsafe { core::ptr::read_volatile((&raw const SEEDED).cast::<u32>()) } == fault).into()
}
"""


# A program with all faults.


def copy():
    """The core and the program of the proof, side by side as they are, with all faults."""
    for part in ("core/src", "tests/proof/code/src"):
        shutil.rmtree(COPY / part, ignore_errors=True)
        shutil.copytree(ROOT / part, COPY / part)
    for page in (ROOT / "core").glob("*.md"):
        shutil.copy(page, COPY / "core")
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(HERE / "code" / name, COPY / "tests/proof/code")
    (COPY / "core/Cargo.toml").write_text(manifest())
    for number, fault in enumerate(FAULTS, 1):
        path = COPY / "core/src" / fault.file
        text = path.read_text()
        assert text.count(fault.old) == 1, (fault.name, text.count(fault.old))
        path.write_text(text.replace(fault.old, fault.new.replace("CHOSEN", f"crate::seeded({number})")))
    library = COPY / "core/src/lib.rs"
    library.write_text(library.read_text().replace("#![forbid(unsafe_code)]", "") + CHOICE)


def manifest():
    """That of the core, outside of the workspace."""
    text = (ROOT / "core/Cargo.toml").read_text()
    whole = (ROOT / "Cargo.toml").read_text().split("[workspace.package]")[1]
    text = re.sub(r"(\w[\w-]*)\.workspace = true", lambda found: re.search(rf"^{found[1]} = .*$", whole, re.M)[0], text)
    text = text.replace("[lints]\nworkspace = true\n", "")
    return re.sub(r"\[dev-dependencies\].*?(?=^\[|\Z)", "", text, flags=re.M | re.S) + "\n[workspace]\n"


def build(layout):
    target = COPY / layout
    features = [] if layout == "wide" else ["--features", layout]
    command = ["cargo", "build", "-q", "--release", "--manifest-path", COPY / "tests/proof/code/Cargo.toml", *features]
    subprocess.run(command, check=True, env={**os.environ, "CARGO_TARGET_DIR": str(target)})
    return target / "release/libproof_code.so"


def with_fault(library, number):
    """The program with this fault, or with 0 none, as a file."""
    raw = library.read_bytes()
    with open(library, "rb") as file:
        elf = ELFFile(file)
        (place,) = {s["st_value"] for s in elf.get_section_by_name(".symtab").iter_symbols() if s.name == "SEEDED"}
        (at,) = elf.address_offsets(place, 4)
    assert raw[at : at + 4] == CHOSEN
    path = library.parent / f"fault-{number}.so"
    path.write_bytes(raw[:at] + number.to_bytes(4, "little") + raw[at + 4 :])
    return str(path)


MOST_SECONDS = 1_200

# Finding one.


def prove(proof, operation):
    """The first end that is not as specified: what fails, how many turns were followed, the state, what it met."""
    for case in proof.cases(operation):
        machine, state, world = proof.begin(operation, *case)
        turns = loop.Turns(machine, world.lasting, world.is_timed)
        try:
            for end in turns.ends(state):
                if failed := proof.check(operation, end, world):
                    return failed[0], turns.count, end, world
            for cut in turns.cut:
                if failed := proof.check(operation, cut, world, is_cut=True):
                    return failed[0], turns.count, None, world
        except Unmodelled as fault:
            return (str(fault), ""), turns.count, None, world
    return None


def refuted(proof, operation, state, world):
    """Conditions under which an end is not as specified."""
    for _, condition in proof.obligations(operation, state, world)[0]:
        when, effects = condition if isinstance(condition, tuple) else (TRUE, [condition])
        if not proof.holds([*state.known, when], And(*effects)):
            return [when, Not(And(*effects))]
    return None


def asked(proof, operation, found):
    """The parts of a duration for which an end is not as specified."""
    _, _, state, world = found
    if state is None or not proof.solver.satisfiable([*state.known, *refuted(proof, operation, state, world)]):
        return {}
    (ms,) = proof.solver.model([world.asked.asked])
    return {"seconds": number(ms // 1_000, 32), "millis": number(ms % 1_000, 10), "rest": number(0, 20)}


def fix(state, world, parts):
    """Puts numbers in place of free ones."""
    put = loop.Substitute(parts)
    for bytes_ in (state.registers, state.memory):
        bytes_.at = {place: (put(term), k) for place, (term, k) in bytes_.at.items()}
    world.time = put(world.time)
    state.known += tuple(variable(name, part.size) == part for name, part in parts.items())


def exactly(proof, operation, most_lost, parts):
    """The first end of an exact run that is not as specified, with what refutes it."""
    _, start, world = begin(proof, operation)
    fix(start, world, parts)
    for state in ends(Exact(proof), start, most_lost):
        if conditions := refuted(proof, operation, state, world):
            return state, conditions
    return None, None


def example(proof, operation, found):
    """Numbers for which the code is not as specified, with whether an exchange is lost in them."""
    _, turns, state, world = found
    is_lost = turns > 0 or state is None
    if is_lost or operation in WITH_TIME:
        # It began in the middle of the loop, or with a number of milliseconds: followed from the call on.
        parts = asked(proof, operation, found) if operation in WITH_TIME else {}
        state, conditions = exactly(proof, operation, 1 if is_lost else 0, parts)
    else:
        conditions = refuted(proof, operation, state, world)
    if state is None:
        return None, is_lost
    return Witnesses(proof, operation, random.Random(1)).of(state, conditions), is_lost


def check(library, layout, number, fault):
    """Finds a fault; returns whether it was found as expected."""
    begun, path = time.time(), with_fault(library, number)
    proof = Proof(Program(path), layout, fault.free, **fault.rules)
    found = prove(proof, fault.operation)
    seconds, replayed = time.time() - begun, ""
    if found:
        witness, is_lost = example(proof, fault.operation, found)
        differs = emulate(path, witness) if witness else "no end of an exact run is wrong"
        replayed = differs or ("replayed, with a lost exchange" if is_lost else "replayed")
        is_right = differs is None and not fault.hidden
    else:
        is_right = bool(fault.hidden)
    verdict = f"found: {found[0][0]}" if found else f"EQUAL: {fault.hidden or 'NOT FOUND'}"
    total = time.time() - begun
    print(f"{fault.name:44} {fault.operation:16} {seconds:6.1f} s {total:6.1f} s  {verdict}; {replayed}"[:230], flush=True)
    os.remove(path)
    return is_right


# Faults of the specification.


def check_specification(fault):
    """Proves the code, which is right, against a specification that is not."""
    begun, folder = time.time(), COPY / f"specification-{OF_SPECIFICATION.index(fault)}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for module in HERE.glob("*.py"):
        shutil.copy(module, folder)
    path = folder / f"{fault.module}.py"
    text = path.read_text()
    assert text.count(fault.old) == 1, (fault.old, text.count(fault.old))
    path.write_text(text.replace(fault.old, fault.new))
    program = TARGET / "wide/release/libproof_code.so"
    command = [sys.executable, folder / "prove.py", program, "wide", fault.operation, *fault.settings]
    told = subprocess.run(command, capture_output=True, text=True, check=False)
    is_found = told.returncode == 1 and "NOT EQUAL" in told.stdout
    verdict = told.stdout.strip().splitlines()[0].strip() if is_found else f"NOT FOUND {told.stderr[-300:]}"
    print(f"{fault.old.strip():44.44} {fault.operation:16} {time.time() - begun:6.1f} s  {verdict:.110}", flush=True)
    return is_found


def judged(check, *arguments):
    sys.exit(not check(*arguments))


def in_time(todo):
    """Each in a process of its own, as many at a time as there are cores; one that takes too long has not found it."""
    waiting, running, results = list(todo), {}, []
    while waiting or running:
        while waiting and len(running) < os.cpu_count():
            arguments = waiting.pop(0)
            process = multiprocessing.Process(target=judged, args=arguments)
            process.start()
            running[process] = (time.time(), arguments[-1])
        for process, (begun, fault) in list(running.items()):
            process.join(0.1)
            if process.is_alive() and time.time() - begun > MOST_SECONDS:
                process.kill()
                process.join()
                print(f"{fault[0]:44} no answer within {MOST_SECONDS} s", flush=True)
            if not process.is_alive():
                results.append(process.exitcode == 0)
                del running[process]
    return results


def main():
    parts = sys.argv[1:2] or ["wide", "narrow", "specification"]
    names, todo = sys.argv[2:], []
    layouts = [part for part in parts if part != "specification"]
    if layouts:
        copy()
    for layout in layouts:
        library = build(layout)
        for number, fault in enumerate(FAULTS, 1):
            if fault.layout == layout and (not names or any(name in fault.name for name in names)):
                todo.append((check, library, layout, number, fault))
    if "specification" in parts:
        todo += [(check_specification, fault) for fault in OF_SPECIFICATION]
    results = in_time(todo)
    print(f"{sum(results)} of {len(results)} as expected")
    sys.exit(not all(results) or not results)


if __name__ == "__main__":
    main()
