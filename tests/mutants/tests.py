# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tests of a package, which of the mutants each meets, and what becomes of a mutant."""

import concurrent.futures
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import time

from places import BASE

QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


class Test:
    def __init__(self, program, name):
        self.program, self.name = program, name
        self.folder = (program.parent / "folder").read_text()

    def meet(self):
        """Runs it alone, without a mutant; gives the numbers of those it would have met, or `None` if it fails."""
        with tempfile.NamedTemporaryFile(dir=BASE) as met:
            began = time.monotonic()
            command = ["nice", self.program, "--exact", self.name]
            ended = subprocess.run(command, cwd=self.folder, env=os.environ | {"MUTANTS_MET": met.name}, **QUIET)
            self.seconds = time.monotonic() - began
            if ended.returncode:
                return None
            # A process that was killed may have left half a number.
            numbers = pathlib.Path(met.name).read_bytes()
            return {number for (number,) in struct.iter_unpack("<I", numbers[: len(numbers) // 4 * 4])}


def all_tests(room, targets):
    for package, names in targets.items():
        place = BASE / room / package
        for name in names or sorted(path.name for path in place.iterdir() if path.name != "folder"):
            command = [place / name, "--list", "--format", "terse"]
            listed = subprocess.run(command, cwd=(place / "folder").read_text(), capture_output=True, text=True, check=True)
            for line in listed.stdout.splitlines():
                if line.endswith(": test"):
                    yield Test(place / name, line.removesuffix(": test"))


def in_parallel(work, items):
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(work, items))


def that_meet(room, targets):
    """Of each mutant the tests that meet it, the fastest first."""
    met = {}
    tests = list(all_tests(room, targets))
    found = list(zip(tests, in_parallel(Test.meet, tests)))
    for test, numbers in sorted(found, key=lambda it: it[0].seconds):
        if numbers is None:
            # It reads the package's own code, or expects a text of the compiler.
            print(f"{room}: fails without a mutant, and is left out: {test.name}", file=sys.stderr)
        for number in numbers or ():
            met.setdefault(number, []).append(test)
    return met


def batches(tests):
    """First the tests that are over within a second altogether, then those that take two more, four more, and so on: a
    mutant that hangs may take ten times as long as the tests of its batch, and not of all."""
    most, batch = 1, []
    for test in tests:
        if batch and sum(it.seconds for it in batch) + test.seconds > most:
            yield batch
            most, batch = 2 * most, []
        batch.append(test)
    if batch:
        yield batch


def fate(mutant, tests):
    """What becomes of a mutant. Says at once what has survived, as it may take long until all are known."""
    number, name = mutant
    for some in batches(tests):
        told = run(number, some)
        if told != "survived":
            return told
    print(f"{number:4} survived {len(tests)} tests: {name}", file=sys.stderr)
    return "survived"


def run(number, tests):
    by_program = {}
    for test in tests:
        by_program.setdefault(test.program, []).append(test)
    # Ending with the first test that fails is not stable yet.
    environment = os.environ | {"MUTANT": str(number), "RUSTC_BOOTSTRAP": "1"}
    for program, chosen in by_program.items():
        command = ["nice", program, "-q", "-Zunstable-options", "--fail-fast", "--exact", *(it.name for it in chosen)]
        limit = 20 + 10 * sum(it.seconds for it in chosen)
        try:
            ended = subprocess.run(command, cwd=chosen[0].folder, env=environment, timeout=limit, **QUIET)
        except subprocess.TimeoutExpired:
            return "late"
        if ended.returncode:
            return "caught"
    return "survived"
