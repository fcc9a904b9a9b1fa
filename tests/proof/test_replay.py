# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that replays agree with each other, and that they report wrong predictions.

    test_replay.py COUNT wide|narrow PROGRAM [PROGRAM ..]

Each program is given the same words, permits, rules and numbers, chosen at random, and must do the same with them as the
first, which runs on this machine, too.
"""

import random
import struct
import sys
from collections import Counter
from copy import deepcopy

from emulator import KINDS
from replay import Recorded, alone, emulate, machine, natively, record

WITH_PERMIT = (
    "success success_elsewhere failure slow tripping tripping_for retry_after ignored cancel drop attempt renew"
    " still_counts"
).split()
WITH_TIME = "tripping_for retry_after trip_for restore_after".split()
OTHERS = (
    "acquire trip trip_for force_open release reset disable enable probe_now probe_early retire"
    " restore restore_after restore_running snapshot state is_valid accepts"
).split()
WITHOUT_ANSWER = "retire still_counts state".split()
# The widths of the fields: state, trips, payload, time, epoch.
FIELDS = {64: (2, 5, 16, 32, 9), 32: (2, 3, 8, 15, 4)}
# Numbers of `SAMPLES` by which settings are found, and others that are accepted.
SETTINGS = [
    {
        0x1101_1101: 3,
        0x2202_2202: 1_000,
        0x3303_3303: 500,
        0x4404_4404: 20_000,
        0x6606_6606: 60_000,
        0x0708_0708: 10_000,
        0x0809_0809: 5_000,
        0x090A_090A: 100,
        0xA0B1: 2,
        0xC0D1: 3,
        0xE5: 20,
        0x0F01_0F01: 700,
    },
    {0x1201_1201: 2, 0x1301_1301: 4_000, 0x4404_4404: 90_000},
    {0x1401_1401: 4, 0x1501_1501: 6_000},
]
# Wrong predictions that a run on this machine may agree with, which does not see the loads and lost exchanges.
ONLY_EMULATED = ("no load", "kind of load", "exchange 1", "no exchange of the same")


def all_rules(image):
    """Several rules, as they lie in memory."""
    _, seed, retry, *_, trip, size = struct.unpack("<14I", image.read("OFFSETS", 56))
    samples = [image.read("SAMPLES", 4 * size)[k * size :][:size] for k in range(4)]
    made = []
    for sample, settings in zip(samples, SETTINGS):
        for old, new in settings.items():
            width = 4 if old > 0xFFFF else 2 if old > 0xFF else 1
            old, new = (number.to_bytes(width, "little") for number in (old, new))
            assert sample.count(old) == 1, (old, sample)
            sample = sample.replace(old, new)
        made.append(sample)
    # The defaults, but for the rule that trips; and chance that is asked for.
    default, seedless = samples[3][:trip] + made[0][trip:], made[0][:seed] + samples[3][seed:retry] + made[0][retry:]
    return [*made, default, seedless]


def number(chance, bits):
    """Often small or large."""
    return chance.choice([0, 1, 2, 3, chance.getrandbits(bits), (1 << bits) - 1, 1 << bits - 1, chance.getrandbits(4)])


def word(chance, bits):
    made = place = 0
    for width in FIELDS[bits]:
        made |= (number(chance, width) & ((1 << width) - 1)) << place
        place += width
    return made


def valid(path, chance, bits):
    while True:
        call = {"operation": "is_valid", "bits": bits, "pointers": [], "rules": "", "arguments": [word(chance, bits)]}
        if record(path, call, Recorded(0, None))["returned"]:
            return call["arguments"][0]


def one_of(operation, path, chance, bits, rules):
    """The call of an operation, and the word at first."""
    seen = valid(path, chance, bits)
    arguments = []
    if operation in WITH_PERMIT:
        # Often of the same epoch and state.
        granted = valid(path, chance, bits)
        keep = chance.choice([0, (1 << bits) - 1, (1 << bits) - (1 << bits - FIELDS[bits][-1]), 3 | 0xFFFF << bits - 16])
        arguments += [granted & ~keep | seen & keep, chance.getrandbits(32)]
    if operation == "failure":
        arguments += [number(chance, chance.choice([8, 16, 32]))]
    if operation in WITH_TIME:
        # Seconds and nanoseconds.
        arguments += [number(chance, chance.choice([4, 8, 32])), chance.choice([0, 1, 999_999_999, chance.randrange(10**9)])]
    if operation == "is_valid":
        arguments = [word(chance, bits)]
    pointers = ["word", "rules"] + ["answer"] * (operation not in WITHOUT_ANSWER)
    pointers = {"is_valid": [], "accepts": ["rules"]}.get(operation, pointers)
    call = {"operation": operation, "bits": bits, "pointers": pointers, "rules": rules, "arguments": arguments}
    return call, seen


class Numbers:
    """Times near what the word says, and chances. `again` repeats those of each kind, as some processors ask once more."""

    def __init__(self, seed, bits, seen, again=False):
        self.chance, self.time = random.Random(seed), seen >> sum(FIELDS[bits][:3]) & ((1 << FIELDS[bits][3]) - 1)
        self.tick, self.again = (1 if bits == 64 else 64), again
        self.first = {kind: self(kind) for kind in KINDS}

    def __call__(self, kind):
        if self.again and hasattr(self, "first"):
            return self.first[kind]
        if kind == "now" and self.chance.random() < 0.8:
            return (self.time * self.tick + self.chance.choice([0, 1, 900, 5_000, 40_000, -1])) & 0xFFFF_FFFF
        return number(self.chance, 32)


class Threads:
    """Other threads, which sometimes leave another word."""

    def __init__(self, seed, words):
        self.chance, self.words = random.Random(seed), words

    def __call__(self, word):
        return self.chance.choice(self.words) if self.chance.random() < 0.3 else word


def wrong(witness):
    """Wrong predictions, by what is wrong: each must be reported."""

    def put(made, at, place, value):
        made["events"][at][place] = value

    def other(change):
        made = deepcopy(witness)
        change(made)
        return made

    yield "returned", other(lambda w: w.update(returned=w["returned"] ^ 1))
    for place in (0, 8, 30):
        yield "answer", other(lambda w, place=place: w["answer"].update({place: w["answer"][place] ^ 0x10}))
    yield "more events", other(lambda w: w["events"].append(["now", 1]))
    for at, (kind, *values) in enumerate(witness["events"]):
        around = [event[0] for event in witness["events"][max(at - 1, 0) : at + 2]]
        # One load less of several may be another run that is possible.
        if around.count("load") < 2:
            is_seen = kind != "exchange" or values[0] != values[1]
            name = f"no {kind}{'' if is_seen else ' of the same'}"
            yield name, other(lambda w, at=at: w["events"].pop(at))
        another = "now" if kind != "now" else "random"
        yield f"kind of {kind}", other(lambda w, at=at, to=another: put(w, at, 0, to))
        for place in {"exchange": (1, 2, 4), "conditional": (1, 2), "store": (1,)}.get(kind, ()):
            value = values[place - 1]
            changed = not value if type(value) is bool else value ^ 4
            yield f"{kind} {place}", other(lambda w, at=at, place=place, to=changed: put(w, at, place, to))


def inputs(witness):
    """Changed inputs, which may or may not matter."""
    for at, (kind, *_) in enumerate(witness["events"]):
        place = {"load": 1, "now": 1, "random": 1, "entropy": 1, "exchange": 3}.get(kind)
        if place:
            made = deepcopy(witness)
            made["events"][at][place] ^= 0x11
            yield kind, made


def check(program, witness, counts):
    """Replays agree, and wrong predictions are reported."""
    replays = [emulate, natively] if machine(program).is_x64 and alone(witness) else [emulate]
    for replay in replays:
        differs = replay(program, witness)
        assert differs is None, (replay.__name__, differs, witness)
        counts[replay.__name__] += 1
        for name, made in wrong(witness):
            if replay is natively and name in ONLY_EMULATED:
                continue
            assert replay(program, made) is not None, (replay.__name__, name, made)
            counts[f"{name} reported by {replay.__name__}"] += 1
        for name, made in inputs(witness):
            counts[f"another {name} {'noticed' if replay(program, made) else 'meant nothing'}"] += 1


def final(witness):
    """The part that is the same on every processor."""
    return witness["returned"], witness["answer"], witness["word"]


def main(count, layout, programs):
    bits, counts = {"wide": 64, "narrow": 32}[layout], Counter()
    rules = [all_rules(machine(program).image) for program in programs]
    for seed in range(count):
        for operation in WITH_PERMIT + OTHERS:
            chance, made, which = random.Random(f"{seed} {operation}"), [], seed % len(rules[0])
            call, seen = one_of(operation, programs[0], chance, bits, "")
            for program, choices in zip(programs, rules):
                call = {**call, "rules": choices[which].hex()}
                script = Recorded(seen, Numbers(seed, bits, seen, again=True))
                made.append(record(program, call, script))
                check(program, made[-1], counts)
                made[-1]["word"] = script.word
                assert final(made[-1]) == final(made[0]), (program, made[-1], made[0])
                threads = Threads(seed, [seen, valid(programs[0], chance, bits), word(chance, bits)])
                check(program, record(program, call, Recorded(seen, Numbers(seed, bits, seen), threads)), counts)
    for name, times in sorted(counts.items()):
        print(f"{times:8} {name}")


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2], sys.argv[3:])
