# SPDX-License-Identifier: MIT OR Apache-2.0
"""The shared file, written from around/docs/shared-file.md alone: what it says is tested here, not what the library does.

Python's standard library only. Headings of the page are named where their content begins.
"""

import os
import stat
import struct
from collections import namedtuple

MASK = 2**64 - 1
CLOCK = 2**32
GUARD = 65_536
LONGEST = 2**31
MOST_PERCENT = 1_677_721_599

# Header

WHOLE, BEGUN, VERSION = 0x41746F6D42726B72, 0x41746F6D42726B3F, 2
HEADER, SINGLE, KEYS, REFUSED = 32, 24, 16, 17
# In the byte order of the machine.
WORD = struct.Struct("=Q")

Expected = namedtuple("Expected", "clock capacity key_bytes rules")


def boot_id():
    with open("/proc/sys/kernel/random/boot_id") as file:
        number = int(file.read().strip().replace("-", ""), 16)
    return number >> 64, number & MASK


def time_namespace():
    try:
        return os.stat("/proc/self/ns/time").st_ino
    except FileNotFoundError:
        return 0


def slot_words(key_bytes):
    return (2 + (key_bytes + 6) // 7 + 7) // 8 * 8


def file_bytes(capacity, key_bytes):
    return 8 * (HEADER + 2 * capacity * slot_words(key_bytes))


def header(expected, secret, mark):
    words = [0] * HEADER
    words[0], words[1] = mark, VERSION
    words[2:4] = boot_id()
    words[4], words[5] = expected.capacity, expected.key_bytes
    words[6], words[7], words[8] = expected.clock, expected.rules, time_namespace()
    words[9:11] = secret
    return b"".join(WORD.pack(word) for word in words)


# Slots of a slab


def siphash24(k0, k1, data):
    def turn(x, by):
        return (x << by | x >> (64 - by)) & MASK

    def rounds(count):
        nonlocal v0, v1, v2, v3
        for _ in range(count):
            v0, v2 = (v0 + v1) & MASK, (v2 + v3) & MASK
            v1, v3 = turn(v1, 13) ^ v0, turn(v3, 16) ^ v2
            v0 = turn(v0, 32)
            v2, v0 = (v2 + v1) & MASK, (v0 + v3) & MASK
            v1, v3 = turn(v1, 17) ^ v2, turn(v3, 21) ^ v0
            v2 = turn(v2, 32)

    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
    whole = len(data) // 8 * 8
    last = data[whole:] + bytes(7 - (len(data) - whole)) + bytes([len(data) & 0xFF])
    for (block,) in struct.iter_unpack("<Q", data[:whole] + last):
        v3 ^= block
        rounds(2)
        v0 ^= block
    v2 ^= 0xFF
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


def key_words(key):
    parts = [key[at : at + 7] for at in range(0, len(key), 7)]
    return [int.from_bytes(part, "little") | (128 + len(part)) << 56 for part in parts]


class File:
    """The words of a file, as a list."""

    def __init__(self, words):
        self.words = words
        self.capacity, self.key_bytes = words[4], words[5]
        self.step = slot_words(self.key_bytes)

    def slot(self, index):
        at = HEADER + index * self.step
        return self.words[at : at + self.step]

    def find(self, key):
        """The index of the slot where calls find this key."""
        hash_of_key = siphash24(self.words[9], self.words[10], key)
        tag = 1 << 63 | len(key) << 53 | hash_of_key & (2**53 - 1)
        slots = 2 * self.capacity
        first = hash_of_key * slots >> 64
        wanted = key_words(key)
        for index in range(first, first + min(256, slots)):
            slot = self.slot(index % slots)
            if slot[0] == 0:
                return None
            if slot[0] == tag and slot[2 : 2 + len(wanted)] == wanted:
                return index % slots
        return None

    def key(self, index):
        tag, _, *rest = self.slot(index)
        if not tag >> 63:
            return None
        length = tag >> 53 & 0x3FF
        key = b""
        for word in rest[: (length + 6) // 7]:
            count = (word >> 56) - 128
            if not 0 <= count <= 7:
                return None
            key += word.to_bytes(8, "little")[:count]
        return key if len(key) == length and self.find(key) == index else None

    def breakers(self):
        """Keys with their words; a single breaker has the key None."""
        if self.capacity == 0:
            return [(None, self.words[SINGLE])]
        found = [(self.key(index), self.slot(index)[1]) for index in range(2 * self.capacity)]
        return sorted((key, word) for key, word in found if key is not None)


# The word


def bits(word, low, high):
    return word >> low & (1 << (high - low + 1)) - 1


def open_time(code):
    e, m = divmod(code, 1_024)
    return code if e == 0 else (1_024 + m) << (e - 1)


def is_written_by_breakers(word):
    st, trips, payload, moment = bits(word, 0, 1), bits(word, 2, 6), bits(word, 7, 22), bits(word, 23, 54)
    if st == 0 and trips == 0:
        return payload != 0 or moment == 0
    if st == 1:
        return trips != 0 and bits(word, 7, 21) <= 22_528
    if st == 3 and trips == 0:
        return 1 <= payload <= 4 and moment == 0
    return st != 3 or bits(word, 15, 21) <= 3


def state(word):
    st, trips = bits(word, 0, 1), bits(word, 2, 6)
    if st == 0:
        return "returning" if trips else "closed"
    if st == 3 and trips == 0:
        return "disabled" if bits(word, 7, 22) in (2, 3) else "forced open"
    return "open" if st == 1 else "half-open"


# Calls without the library


def may_pass(word):
    return word & 0x7F == 0


# What is refused


def flaw_of_file(found):
    """What is wrong with a file that is open, before its content."""
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISREG(found.st_mode):
        return "kind"
    if found.st_uid != os.geteuid():
        return "owner"
    if mode != 0o600 and not (found.st_size == 0 and mode & ~0o600 == 0):
        return "mode"
    return "names" if found.st_nlink > 1 else None


def flaw_of_content(data, expected):
    """What is wrong with the content, or None. If nothing is expected, the file may hold anything within the limits."""
    if not data:
        return "empty"
    words = [word for (word,) in WORD.iter_unpack((data[:256] + bytes(256))[:256])]
    if words[0] == BEGUN:
        return "unfinished"
    if words[0] != WHOLE:
        if not any(data[:256]):
            # Nobody who expects another length would have left so much.
            is_too_long = expected and len(data) > file_bytes(expected.capacity, expected.key_bytes)
            return "foreign" if is_too_long or any(data) else "zeros"
        return "byte-order" if words[0] == int.from_bytes(WHOLE.to_bytes(8, "little"), "big") else "foreign"
    if len(data) < 256:
        return "length"
    if tuple(words[2:4]) != boot_id():
        return "restart"
    if words[1] != VERSION:
        return "version"
    capacity, key_bytes = words[4:6]
    if expected is None:
        is_single = (capacity, key_bytes) == (0, 0)
        if not is_single and not (1 <= capacity <= 1_048_576 and 1 <= key_bytes <= 1_000):
            return "shape"
        expected = Expected(words[6], capacity, key_bytes, words[7])
    if (capacity, key_bytes) != (expected.capacity, expected.key_bytes):
        return "shape"
    if len(data) != file_bytes(capacity, key_bytes):
        return "length"
    if words[6] != expected.clock:
        return "clock"
    if words[8] != time_namespace():
        return "namespace"
    return "rules" if words[7] != expected.rules else None


# The rules


def successes_needed(rules):
    return rules.get("close_after", rules.get("probes", 1))


def growth_of(rules):
    return rules.get("exponential") or rules.get("exponential_percent") or rules.get("linear")


# Fingerprint of the rules


def fingerprint(rules):
    def setting(name, part=None):
        found = rules.get(name)
        return found if found is None or part is None else found[part]

    percent = setting("exponential_percent", "percent")
    if "exponential" in rules:
        percent = 100 * rules["exponential"]["factor"]
    growth = growth_of(rules) or {}
    in_a_row = None if "failures_within" in rules else rules.get("consecutive_failures", 5)
    numbers = [
        in_a_row,
        rules.get("lasting_ms") or None,
        setting("failures_within", "failures"),
        setting("failures_within", "window_ms"),
        setting("slow_call_ms"),
        rules.get("open_for_ms", 5_000),
        growth.get("max_ms"),
        None if percent is None else min(percent, MOST_PERCENT),
        setting("linear", "step_ms"),
        rules.get("jitter_percent", 0),
        rules.get("max_retry_after_ms", 300_000),
        rules.get("probes", 1),
        successes_needed(rules),
        rules.get("probe_lease_ms", 30_000),
        rules.get("cancel_limit_ms", 250),
        setting("gradual_return", "first_percent"),
        setting("gradual_return", "over_ms"),
    ]
    data = b"".join(struct.pack("<Q", MASK if number is None else number) for number in numbers)
    return siphash24(0, 0, data)

