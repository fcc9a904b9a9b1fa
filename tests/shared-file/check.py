# SPDX-License-Identifier: MIT OR Apache-2.0
"""Commands by which the Rust tests ask the reader in Python; `tests/shared-file/run` starts them.

Requests come one a line; so do the answers, as JSON with its keys in order.

  show            PATH NOW RULES      every breaker: its key in hexadecimal, and what its word shows;
                                      by the clock of the page if NOW is null
  flaws           PATH EXPECTED       why the file is refused or taken afresh, or "used"
  fingerprints    RULES
  create          PATH EXPECTED SECRET
  join            PATH EXPECTED       opens it as the library does, says whether it made the file, and keeps it
  die             PATH EXPECTED STEP  dies while it creates the file
  changes         BEFORE AFTER NOW WEIGHT DEMAND IS_FIXED RULES   the events of the page that lead from one word to the other
  page                                the examples on the page

RULES are as in a file of rules; EXPECTED is [clock, keys, bytes of a key, fingerprint].
"""

import json
import re
import sys
import time
from pathlib import Path

import opening
from changes import names_of_change
from sharedfile import CLOCK, Expected, fingerprint, is_written_by_breakers, may_pass, siphash24
from shown import snapshot

PAGE = Path(__file__).parents[2] / "std-adapter/around/docs/shared-file.md"


def boot_clock():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000 % CLOCK


def show(path, now, rules):
    file = opening.read(path)
    now = boot_clock() if now is None else now
    breakers = file.breakers()
    shown = [[None if key is None else key.hex(), snapshot(word, now, rules)] for key, word in breakers]
    for (_, word), (_, shows) in zip(breakers, shown):
        is_closed = shows["state"] == "closed"
        assert may_pass(word) == is_closed or is_closed and not is_written_by_breakers(word), hex(word)
    return [file.words[16], file.words[17], shown]


def flaws(path, expected):
    try:
        opening.read(path, Expected(*expected))
    except opening.Refused as flaw:
        return str(flaw)
    return "used"


def join(path, expected, *more):
    try:
        _kept, is_made = opening.join(path, Expected(*expected), *more)
    except opening.Refused as flaw:
        return str(flaw)
    return "made" if is_made else "joined"


def page():
    """Each example on the page, recomputed."""
    text = PAGE.read_text()
    faults, count = [], 0

    def check(what, found, wanted):
        nonlocal count
        count += 1
        if found != wanted:
            faults.append(f"{what}: computed {found}, the page says {wanted}")

    check("SipHash", siphash24(0x0706050403020100, 0x0F0E0D0C0B0A0908, bytes(range(15))), 0xA129CA6149BE45E5)
    for rules, wanted in re.findall(r"^\| `(\{.*?\})` \| .* \| `(0x[0-9A-F]{16})` \|$", text, re.M):
        check(rules, f"0x{fingerprint(json.loads(rules)):016X}", wanted)
    for word, rules, wanted in re.findall(r"^\| `(0x[0-9A-F]{16})` \| (.*?) \| `(\{.*\})` \|$", text, re.M):
        rules = json.loads(rules.strip("`")) if rules.startswith("`{") else {}
        shown = snapshot(int(word, 16), 100_000, rules)
        wanted = json.loads(wanted)
        check(word, {name: shown[name] for name in wanted}, wanted)
    if count < 12:
        faults.append(f"only {count} examples were found")
    return faults or "ok"


COMMANDS = {
    "show": show,
    "flaws": flaws,
    "fingerprints": fingerprint,
    "create": join,
    "join": join,
    "die": lambda path, expected, step: join(path, expected, None, step),
    "changes": names_of_change,
    "page": page,
}

if __name__ == "__main__":
    for line in sys.stdin:
        answer = COMMANDS[sys.argv[1]](*json.loads(line))
        print(json.dumps(answer, sort_keys=True, separators=(",", ":")), flush=True)
