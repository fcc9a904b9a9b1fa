# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where the mutants are built."""

import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE = ROOT / "target/mutants"
COPY = BASE / "tree"


def output(*command):
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def copy():
    """Makes the copy what the working tree is. Files that are the same keep their times, so that nothing is rebuilt."""
    names = set(output("git", "ls-files", "-co", "--exclude-standard").splitlines())
    names = {name for name in names if (ROOT / name).is_file()}
    for path in COPY.rglob("*"):
        if path.is_file() and str(path.relative_to(COPY)) not in names:
            path.unlink()
    for name in names:
        source, copied = (ROOT / name).read_bytes(), COPY / name
        if not copied.exists() or copied.read_bytes() != source:
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes(source)
            copied.chmod((ROOT / name).stat().st_mode)


def numbered(names):
    """Names, of which those that read the same are numbered."""
    seen, different = {}, []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        different.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return different
