# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs a witness of the prover with its numbers, in an emulator or on this machine, and compares what comes of it.

A witness is a dictionary:

    operation, bits      "failure", 64
    pointers, arguments  ["word", "rules", "answer"], and the numbers after them
    rules                the bytes of the settings in memory, in hexadecimal
    events               in order: load FOUND · now NUMBER · random NUMBER · entropy NUMBER
                         · exchange EXPECTED NEW FOUND WON · conditional NEW WON · store NEW
    returned, answer     a number, and bytes of the answer by their place

It shares nothing with the prover, so that faults of the lifter, the executor and the solvers show.
"""

import ctypes
import mmap
import os
import signal
from functools import lru_cache

from emulator import ANSWER_SIZE, KINDS, Differs, Machine

SECONDS, AGREES = 10, "as predicted"


class Expected:
    """The events of a witness, met one after the other."""

    def __init__(self, events):
        self.events, self.met = events, 0

    def next(self, kind, *values):
        """The rest of the next event, which must be of this kind and begin with these values."""
        event = list(self.events[self.met]) if self.met < len(self.events) else ["the end"]
        begun = [kind, *values]
        if event[: len(begun)] != begun:
            raise Differs(f"event {self.met} is {shown(begun)}, not {shown(event)}")
        self.met += 1
        return event[len(begun) :]

    def load(self):
        return self.next("load")[0]

    def number(self, kind):
        return self.next(kind)[0]

    def exchange(self, expected, new):
        found, won = self.next("exchange", expected, new)
        agree(expected, found, won)
        return found

    def conditional(self, new):
        return bool(self.next("conditional", new)[0])

    def store(self, new):
        self.next("store", new)

    def end(self):
        if self.met < len(self.events):
            raise Differs(f"ends before event {self.met}, {shown(self.events[self.met])}")


class Recorded:
    """Events as they come: `number(kind)` chooses times and chances, `others(word)` what other threads leave."""

    def __init__(self, word, number, others=lambda word: word):
        self.word, self.choose, self.others, self.events = word, number, others, []

    def load(self):
        self.word = self.others(self.word)
        self.events.append(["load", self.word])
        return self.word

    def number(self, kind):
        self.events.append([kind, self.choose(kind)])
        return self.events[-1][1]

    def exchange(self, expected, new):
        found = self.others(self.word)
        self.events.append(["exchange", expected, new, found, found == expected])
        self.word = new if found == expected else found
        return found

    def conditional(self, new):
        found = self.others(self.word)
        won = found == self.word
        self.events.append(["conditional", new, won])
        self.word = new if won else found
        return won

    def store(self, new):
        self.events.append(["store", new])
        self.word = new

    def end(self):
        """Never too early."""


def agree(expected, found, won):
    """An exchange stores if and only if it finds what it expects."""
    if bool(won) != (found == expected):
        raise Differs(f"an exchange expects {expected:#x}, finds {found:#x} and {'stores' if won else 'does not store'}")


def shown(event):
    return " ".join(hex(part) if type(part) is int else str(part) for part in event)


@lru_cache(maxsize=8)
def built(path, _changed):
    return Machine(path)


def machine(path):
    """The emulator of a program, anew when the program is."""
    return built(path, os.stat(path).st_mtime_ns)


def compare(witness, returned, answer):
    if returned != witness["returned"]:
        raise Differs(f"returns {returned:#x}, not {witness['returned']:#x}")
    for place, byte in witness["answer"].items():
        if answer[int(place)] != byte:
            raise Differs(f"byte {place} of the answer is {answer[int(place)]:#x}, not {byte:#x}")


def emulate(path, witness):
    """Nothing if an emulated processor ends as the witness predicts, else a text that says what differs."""
    try:
        compare(witness, *machine(path).run(witness, Expected(witness["events"])))
    except Differs as differs:
        return str(differs)
    return None


def record(path, call, script):
    """The witness of a call, with the events that the script has chosen."""
    returned, answer = machine(path).run(call, script)
    return {**call, "events": script.events, "returned": returned, "answer": dict(enumerate(answer))}


def alone(witness):
    """The word before and after, if nothing but the operation itself changes it; else nothing."""
    first = word = None
    for kind, *values in witness["events"]:
        if kind in KINDS:
            continue
        if kind not in ("load", "exchange"):
            return None
        found = values[0] if kind == "load" else values[2]
        if word is not None and word != found:
            return None
        first = found if first is None else first
        word = values[1] if kind == "exchange" and values[3] else found
    return first or 0, word or 0


def natively(path, witness):
    """As `emulate`, on this machine, for witnesses that are `alone`; in a process of its own, which may hang or fall."""
    words = alone(witness)
    if not words:
        return "other threads change the word"
    told = mmap.mmap(-1, mmap.PAGESIZE)
    child = os.fork()
    if not child:
        in_child(path, witness, words, told)
    _, status = os.waitpid(child, 0)
    if status:
        return f"ends with {signal.Signals(status & 0x7F).name if status & 0x7F else status}"
    text = told[:].rstrip(b"\0").decode()
    return None if text == AGREES else text or "ends without a word"


def in_child(path, witness, words, told):
    """Writes what differs, and ends the process."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(SECONDS)
        run_natively(path, witness, *words)
        told.write(AGREES.encode())
    except BaseException as error:
        told.write((str(error) or repr(error)).encode()[: mmap.PAGESIZE])
    finally:
        os._exit(0)


def run_natively(path, witness, before, after):
    library = ctypes.CDLL(path)
    numbers = [event for event in witness["events"] if event[0] in KINDS]
    for expected, _, found, won in (values for kind, *values in witness["events"] if kind == "exchange"):
        agree(expected, found, won)
    queue = (ctypes.c_uint32 * 2 * 64).in_dll(library, "ENV_NUMBERS")
    for at, (_, number) in enumerate(numbers):
        queue[at][0] = number
    # Of 64-bit numbers, so that each begins where any of them may.
    word, answer = ctypes.c_uint64(before), (ctypes.c_uint64 * (ANSWER_SIZE // 8))()
    raw = bytes.fromhex(witness["rules"])
    rules = (ctypes.c_uint64 * (len(raw) // 8 + 1)).from_buffer_copy(raw.ljust(len(raw) // 8 * 8 + 8, b"\0"))
    places = {"word": word, "rules": rules, "answer": answer}
    function = getattr(library, f"p_{witness['operation']}")
    function.restype = ctypes.c_uint32
    pointers = [ctypes.byref(places[name]) for name in witness["pointers"]]
    returned = function(*pointers, *(ctypes.c_uint64(number) for number in witness["arguments"]))
    asked = [queue[at][1] - 1 for at in range(ctypes.c_uint64.in_dll(library, "ENV_NEXT").value)]
    if [KINDS[kind] for kind in asked] != [kind for kind, _ in numbers]:
        raise Differs(f"asks for {[KINDS[kind] for kind in asked]}")
    if word.value != after:
        raise Differs(f"leaves the word {word.value:#x}, not {after:#x}")
    compare(witness, returned, bytes(answer))
