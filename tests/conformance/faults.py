# SPDX-License-Identifier: MIT OR Apache-2.0
"""That the histories find faults: each of these, seeded into a copy of the reader or of the Python package.

    python3 faults.py FOLDER

FOLDER is that of `run`: it has the package, and histories in some.jsonl.
"""

import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# What is replaced, where it stands once, and by what.
READER = [
    ("(low >>> 2) & 0x1f", "(low >>> 2) & 0x0f"),
    ("(low >>> 7) & 0xffff", "(low >>> 7) & 0x7fff"),
    ("(high & 0x7fffff) << 9", "(high & 0x3fffff) << 9"),
    ("epoch: high >>> 23", "epoch: (high >>> 23) & 0xff"),
    ("(word.epoch + 1) % 512", "word.epoch"),
    ("(word.epoch + 1) % 512", "word.epoch + 1"),
    ("isWritten(word) ? word", "true ? word"),
    ("payload !== 0 || time === 0", "true"),
    ("(payload & 0x7fff) <= LARGEST_CODE", "true"),
    ("payload <= 4 && time === 0", "payload <= 4"),
    ("& 0x7f) <= 3", "& 0x7f) <= 7"),
    ("const GUARD = 65_536", "const GUARD = 65_535"),
    ("2 ** 32 - GUARD - 1", "2 ** 32"),
    ("2 ** (e - 1)", "2 ** e"),
    ("e === 0 ? code", "e === 2 ? code"),
    ("const LONGEST = 2 ** 31", "const LONGEST = 2 ** 32"),
    ("* 2 ** shown.lost", ""),
    ("const ASK_AGAIN = 100", "const ASK_AGAIN = 1_000"),
    ("+ 1 : 0;", ": 0;"),
    ("isLost ? 1 : Math.min", "Math.min"),
    ("Math.max(1, needed)", "needed"),
    ("rules.close_after || rules.probes", "rules.close_after"),
    ("Math.ceil((shown.wait ?? 0) / 2)", "shown.wait ?? 0"),
    ("+ 100 * age", "+ age"),
    ("(word & 0x7fn) === 0n", "(word & 0x3n) === 0n"),
    ("(word & 0x7fn) === 0n", "(word & 0x7cn) === 0n"),
    ('if (shown.due) shown.state = "half-open";', ''),
    ("payload === 2 || payload === 3", "payload === 2 || payload === 4"),
    ("payload > 0x7fff", "payload > 0x3fff"),
    ("rules.lasting_ms === 0 ||", ""),
    ("|| !keepsTrips", ""),
    ("const LARGEST_AGE = 32_767", "const LARGEST_AGE = 16_383"),
    ("if (age !== null) shown.failures = rules.failures;", ""),
    ("unit *= 2", "unit += 1"),
    ("* unit", ""),
    ("(age ?? 0)) >>> 0", "0) >>> 0"),
    ("grows ? ownOpenTime(rules, trips) : 0", "0"),
    ("trip < trips &&", "trip <= trips &&"),
]  # fmt: skip
PACKAGE = [
    ("_CLOSED = 0x7F", "_CLOSED = 0x3"),
    ("_CLOSED = 0x7F", "_CLOSED = 0x7C"),
    ("_NOTHING_COUNTED = 0x7FFFFF", "_NOTHING_COUNTED = 0x7F"),
    ("_NOTHING_COUNTED = 0x7FFFFF", "_NOTHING_COUNTED = 0x3FFFFF"),
    ("if error is None and self._state == _PASSED", "if self._state == _PASSED"),
    ("library.Token(~self._word)", "library.Token(self._word)"),
    ("library.Token(~self._word)", "library.Token(~self._word, 1)"),
    ("library.Token(~self._word)", "library.Token(~self._breaker._cell.value)"),
    ("self._report(library.report_retry_after,", "self._report(library.report_down,"),
    ("self._report(library.report_down,", "self._report(library.report_retry_after,"),
]
BREAKER = [("c_uint64(1) if file.measures else ", "")]


def seeded(file, old, new):
    text = file.read_text()
    if text.count(old) != 1:
        sys.exit(f"faults.py: {old!r} is {text.count(old)} times in {file.name}")
    file.write_text(text.replace(old, new))


def is_found(command, lines):
    with lines.open() as histories:
        return subprocess.run(command, stdin=histories, capture_output=True).returncode == 1


def main(folder):
    lines, copy = folder / "some.jsonl", folder / "seeded"
    faults = [("reader.mjs", *fault) for fault in READER]
    faults += [("atomic_breaker/_attempt.py", *fault) for fault in PACKAGE]
    faults += [("atomic_breaker/_breaker.py", *fault) for fault in BREAKER]
    missed = []
    for name, *fault in faults:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(folder / "python", copy)
        for script in ("reader.mjs", "through_reader.mjs"):
            shutil.copy(HERE / script, copy)
        seeded(copy / name, *fault)
        command = ["node", copy / "through_reader.mjs"]
        if name.endswith(".py"):
            command = [sys.executable, HERE / "through_python.py", copy]
        if not is_found(command, lines):
            missed.append(f"{name}: {fault[0]} -> {fault[1]}")
    print(f"faults: {len(faults)} seeded, {len(faults) - len(missed)} found")
    sys.exit("\n".join(missed) or 0)


main(pathlib.Path(sys.argv[1]))
