# SPDX-License-Identifier: MIT OR Apache-2.0
"""Faults that are put into a copy of the library for C: each must be found.

    c_faults.py FOLDER [NAME ..]

`FOLDER` is for the copy; `run` has what makes a program of it.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent

# Name, file, what is there, what is put in its place, and the function that shows it.
FAULTS = [
    ("a success is a failure", "core/c/src/steps.rs", "if succeeded { permit", "if !succeeded { permit", "report"),
    ("a token is not cleared", "core/c/src/types.rs", "self.word = N::default();", "", "ignore"),
    ("a token of no bits is one", "core/c/src/types.rs", "(word != N::default()).then", "true.then", "ignore"),
    ("a token of other bits", "core/c/src/types.rs", "Self::from_u64((!number).into())", "Self::from_u64((!number ^ <$number>::from(number == 77)).into())", "trips"),
    ("a permit waits", "core/c/src/steps.rs", "wait_ms: 0,", "wait_ms: 1,", "acquire"),
    ("another state", "core/c/src/types.rs", "State::Returning => 3", "State::Returning => 2", "state"),
    ("a snapshot of another number", "core/c/src/steps.rs", "trips: seen.trips().into()", "trips: seen.lost_rounds().into()", "snapshot"),
    ("rules that were not checked", "core/c/src/types.rs", "self.mark == mark::<B>()", "self.mark != 0", "force_open"),
    ("a word that is not aligned", "core/c/src/by_rules.rs", "> 4 && !word", "> 8 && !word", "release"),
    ("a limit of another field", "core/c/src/types.rs", "cancel_limit_ms = self.cancel_limit_ms", "cancel_limit_ms = self.open_ms", "cancel"),
    ("a time that is not passed on", "core/c/src/by_rules.rs", "let at = At { now_ms,", "let at = At { now_ms: now_ms | 1,", "renew"),
    ("half of the mark", "core/src/word/retained.rs", "self.mark.each_ref().map(load_acquire) == mark(tick_log2)", "load_acquire(&self.mark[0]) == mark(tick_log2)[0]", "restore_running"),
    ("marked before it is right", "core/src/restore.rs", "        let applied = self.apply(|circuit, now| {\n            if has_mark", "        self.word.set_mark(tick);\n        let applied = self.apply(|circuit, now| {\n            if has_mark", "restore_running"),
    ("a random number of another kind", "core/c/src/at.rs", "x = (x ^ x >> 15)", "x = (x ^ x >> 14)", "acquire"),
]  # fmt: skip
OPTIONS = {"a random number of another kind": ["return_first_percent=20", "return_over_ms=1000"]}


def main():
    copy, names = Path(sys.argv[1]), sys.argv[2:]
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, check=True).stdout
    for name in filter(None, tracked.decode().split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            # Files that are the same keep their time, so that little is built again.
            if not (copy / name).exists() or (copy / name).read_bytes() != (ROOT / name).read_bytes():
                shutil.copy(ROOT / name, copy / name)
    found = []
    for name, file, old, new, function in FAULTS:
        if names and name not in names:
            continue
        begun, path = time.time(), copy / file
        right = path.read_text()
        assert right.count(old) == 1, (name, right.count(old))
        path.write_text(right.replace(old, new))
        options = ["--", *OPTIONS[name]] if name in OPTIONS else []
        command = [HERE / "run", "c", "wide", function, *options]
        told = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "C_LIBRARY": str(copy / "core/c")})
        path.write_text(right)
        found.append("NOT EQUAL" in told.stdout)
        said = (told.stdout.strip() or told.stderr.strip()).splitlines()[0].strip()
        print(f"{name:36} {function:16} {time.time() - begun:6.1f} s  {'found' if found[-1] else 'NOT FOUND'}: {said:.90}", flush=True)
    print(f"{sum(found)} of {len(found)} found")
    sys.exit(not found or not all(found))


if __name__ == "__main__":
    main()
