# SPDX-License-Identifier: MIT OR Apache-2.0
"""The mutants of what is evaluated while compiling, each built by itself by cargo-mutants."""

import json
import os
import re
import subprocess
import sys

from places import BASE, COPY, copy, numbered, output

VERSION = "27.1.0"


def install():
    installed = subprocess.run(["cargo", "mutants", "--version"], capture_output=True, text=True).stdout
    if installed.strip() != f"cargo-mutants {VERSION}":
        subprocess.run(["cargo", "install", "--locked", "--version", VERSION, "cargo-mutants"], check=True)


def is_constant(name, folder, places):
    """Whether a mutant stands in one of these lines: `file:first-last`."""
    file, line = name.split(":")[:2]
    for place in places:
        of, lines = place.rsplit(":", 1)
        first, last = (int(number) for number in lines.split("-"))
        if file == f"{folder}/src/{of}" and first <= int(line) <= last:
            return True
    return False


def mutate(room, folder, targets, places, shard):
    """The fates of the mutants, and the names of all that there are."""
    install()
    copy()
    manifest = (COPY / folder / "Cargo.toml").read_text()
    package = re.search('^name = "(.*)"', manifest, re.MULTILINE)[1]
    listed = output("cargo", "mutants", "--list", "-p", package).splitlines()
    short = dict(zip(listed, numbered([re.sub(r":\d+:\d+:", ":", name) for name in listed])))
    chosen = [name for name in listed if is_constant(name, folder, places)]
    first, step = (int(number) for number in shard.split("/")) if shard else (0, 1)
    chosen = chosen[first::step]
    out = BASE / f"{room}-constant"
    command = ["nice", "cargo", "mutants", "--in-place", "-p", package, "-o", out, "--no-times", "--colors", "never"]
    command += [f"--test-package={name}" for name in targets]
    command += ["--all-features", "--minimum-test-timeout", "30", "-C=--config=tests/mutants/quick.toml"]
    names = [name for names in targets.values() for name in names]
    command += [f"-C=--test={name}" for name in names] or ["-C=--tests"]
    command += [f"--re=^{re.escape(name)}$" for name in chosen]
    # Deleted fields are mutants that cargo-mutants takes whatever is chosen, so at least of these files alone.
    command += sorted({f"--file={name.split(':')[0]}" for name in chosen})
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(BASE / "constant"),
        # Twice as fast, as most of a mutant is the same as the one before.
        "CARGO_INCREMENTAL": "1",
        "CARGO_PROFILE_TEST_DEBUG": "0",
    }
    subprocess.run(command, cwd=COPY, env=environment, stdout=sys.stderr)
    outcomes = json.loads((out / "mutants.out/outcomes.json").read_text())["outcomes"]
    if any(it["scenario"] == "Baseline" and it["summary"] != "Success" for it in outcomes):
        sys.exit(f"{room}: the tests fail without any mutant, see {out}/mutants.out/log")
    fates = {"CaughtMutant": "caught", "Timeout": "late", "MissedMutant": "survived"}
    results = []
    for it in outcomes:
        name = it["scenario"] != "Baseline" and it["scenario"]["Mutant"]["name"]
        if name in chosen and it["summary"] in fates:
            results.append((short[name], fates[it["summary"]]))
    return results, set(short.values())
