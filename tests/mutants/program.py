# SPDX-License-Identifier: MIT OR Apache-2.0
"""One program with all mutants of a package."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from places import BASE, COPY, ROOT, copy, numbered


def build(room, folder, targets):
    """Gives the mutants as pairs of number and name, the numbers of those in `const fn`, and how many the compiler does not
    take: their expressions are of the wrong type, or cannot be evaluated while compiling."""
    subprocess.run(["cargo", "build", "-q", "-p", "mutants"], cwd=ROOT, check=True)
    tool = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/mutants"
    source, skipped = COPY / folder / "src", BASE / f"{room}.skipped"
    BASE.mkdir(parents=True, exist_ok=True)
    wrong = set()
    while True:
        copy()
        skipped.write_text(" ".join(sorted(wrong, key=int)))
        mutated = subprocess.run([tool, source, skipped], check=True, stdout=subprocess.PIPE, text=True)
        messages, words = compile_all(targets, package_in(folder))
        if messages is not None:
            break
        found = failing(words, f"{folder}/src/")
        if found <= wrong:
            said = words if isinstance(words, str) else "".join(it["rendered"] for it in words[:3])
            print(said, file=sys.stderr)
            sys.exit(f"{room}: cannot be built, and not because of a mutant")
        wrong |= found
    keep(room, messages)
    lines = [line.split(" ", 1) for line in mutated.stdout.splitlines()]
    names = numbered([re.sub(r":\d+:\d+:", ":", name) for _, name in lines])
    in_constants = {int(number) for number, _ in lines if number.startswith("+")}
    return [(int(number), name) for (number, _), name in zip(lines, names)], in_constants, len(wrong)


def is_built_with(number, room, folder, targets):
    """Builds the same program again, where this mutant is taken by what runs while compiling."""
    messages, _ = compile_all(targets, package_in(folder), number)
    if messages is not None:
        keep(room, messages)
    return messages is not None


def package_in(folder):
    return re.search('^name = "(.*)"', (COPY / folder / "Cargo.toml").read_text(), re.MULTILINE)[1]


def compile_all(targets, mutated, taken=0):
    """The compiler's messages about what it has built; or `None`, and what it has to say."""
    command = ["nice", "cargo", "test", "--no-run", "--all-features", "--message-format=json"]
    for package, names in targets.items():
        command += ["-p", package, *(f"--test={name}" for name in names)] + ([] if names else ["--tests"])
    environment = os.environ | {
        "CARGO_TARGET_DIR": str(BASE / "target"),
        "RUSTFLAGS": "--cap-lints=allow",
        "CARGO_PROFILE_TEST_DEBUG": "0",
        "CARGO_INCREMENTAL": "0",
        "MUTANT_WHILE_COMPILING": str(taken),
        # For these crates alone: whether a function runs while compiling can be asked, but not by what is stable.
        "RUSTC_BOOTSTRAP": ",".join([mutated.replace("-", "_"), *(name for names in targets.values() for name in names)]),
    }
    built = subprocess.run(command, cwd=COPY, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    if built.returncode == 0:
        return messages, ""
    said = [it["message"] for it in messages if it["reason"] == "compiler-message"]
    errors = [it for it in said if it["level"] == "error"]
    return None, errors or built.stderr


def failing(errors, source):
    """The mutants at which the compiler's errors are: the last one asked for before the end of each."""
    found = set()
    for error in errors if isinstance(errors, list) else []:
        for span in error["spans"]:
            if span["is_primary"] and span["file_name"].startswith(source):
                text = (COPY / span["file_name"]).read_text().splitlines(keepends=True)
                before = "".join(text[: span["line_end"]])
                found |= set(re.findall(r"mutant_of_this_run::is\((\d+)", before)[-1:])
    return found


def keep(room, messages):
    """Copies the programs, as the next package is built in the same place."""
    shutil.rmtree(BASE / room, ignore_errors=True)
    for it in messages:
        if it["reason"] == "compiler-artifact" and it["executable"] and it["profile"]["test"]:
            folder = pathlib.Path(it["manifest_path"]).parent
            place = BASE / room / package_in(folder)
            place.mkdir(parents=True, exist_ok=True)
            shutil.copy(it["executable"], place / it["target"]["name"])
            (place / "folder").write_text(str(folder))

