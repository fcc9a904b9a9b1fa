# SPDX-License-Identifier: MIT OR Apache-2.0
"""Histories, as lines of JSON on the standard input, through the Python package: in three ways, all of which must answer what
the lines say. README.md here has the contract.

    python3 through_python.py FOLDER <sample.jsonl

FOLDER has the package atomic_breaker with its library.
"""

import json
import logging
import sys
from contextvars import Context
from ctypes import addressof, byref, c_bool, c_uint32, c_uint64, c_void_p, create_string_buffer
from types import SimpleNamespace

sys.path.insert(0, sys.argv[1])

from atomic_breaker import Breaker, Rejected
from atomic_breaker import _attempt as attempts
from atomic_breaker import _library as library
from atomic_breaker._failures import judge

MOST_PRINTED = 5
RENEW = library._report("renew")
RESTORE, RESTORE_RUNNING = (
    library._function(library._fast, f"ab64_{name}", c_bool, c_void_p, c_void_p, c_uint32)
    for name in ("restore", "restore_running")
)
RESTORE_AFTER = library._function(
    library._fast, "ab64_restore_after", c_bool, c_void_p, c_void_p, c_uint32, c_uint32
)

clock = SimpleNamespace(now=0)
library.now_ms = lambda: clock.now
logging.getLogger("atomic_breaker").disabled = True


class Down(Exception):
    """The resource does not answer."""


class GivenUp(BaseException):
    """The call was cancelled."""


class Kept:
    """A word that survives, `ab_retained`, and the rules: what a history is played on."""

    def __init__(self, history):
        clock.now = history["start"]
        self.memory = (c_uint64 * 2)()
        self.at = addressof(self.memory)
        self.word = c_uint64.from_address(self.at)
        self.settings = history["rules"]
        self.sets = [rules_of(settings) for settings in self.settings]
        self.use(0)
        # It has no mark yet: a first start.
        if RESTORE(self.at, self.rules, clock.now) or self.word.value:
            raise AssertionError("memory of zeros was taken up")

    def use(self, number):
        self.rules = addressof(self.sets[number])
        self.measures = self.settings[number]["slow_call_ms"] != 0

    def acquire(self):
        """A permit and 0; or nothing, and how long to wait."""
        permit = library.acquire(self.at, self.rules, clock.now)
        return (permit.token, 0) if permit.admitted else (None, permit.wait_ms)

    def trips(self, token):
        return library.trips(byref(token))

    def report(self, token, name, *argument):
        function = RENEW if name == "renew" else getattr(library, name)
        return function(self.at, self.rules, byref(token), *argument, clock.now)

    def command(self, name, *argument):
        function = library.trip if name == "trip" else library.COMMANDS[name]
        return function(self.at, self.rules, *argument, clock.now)

    def shows(self):
        seen = library.snapshot(self.at, self.rules, clock.now)
        if library.state(self.at, self.rules, clock.now) != seen.state:
            raise AssertionError("two states")
        return [seen.state, seen.failures, seen.trips, seen.epoch, seen.wait_ms]

    def end(self):
        pass


class ByHand(Kept):
    """Calls without the library, reported with tokens that are made as around/docs/shared-file.md says."""

    def acquire(self):
        word = self.word.value
        is_disabled = word & 0x007F_FFFF_FFFF_FFFF in (0x103, 0x183)
        if word & 0x7F and not is_disabled:
            return super().acquire()
        start = max(clock.now, 1) if self.measures else 0
        return library.Token(~word, start), 0


class Package(Kept):
    """The package's own `Breaker` and `Attempt`, one breaker for each set of rules, all over this word."""

    def __init__(self, history):
        self.changes = self.passed = self.unreported = 0
        super().__init__(history)
        self.of_set = [self.breaker_of(number) for number in range(len(self.sets))]
        self.breaker = self.of_set[0]
        self.held = []

    def breaker_of(self, number):
        breaker = Breaker.__new__(Breaker)
        measures = self.settings[number]["slow_call_ms"] != 0
        rules = addressof(self.sets[number])
        file = SimpleNamespace(path=None, rules=rules, measures=measures, identity=self.at, breaker=lambda _: self.at)
        file.is_newly_removed = lambda: False
        breaker._place(file, None, "history", judge(None), self.changed, None)
        return breaker

    def changed(self, _breaker, state):
        self.changes += 1
        if state != library.state(self.at, self.rules, clock.now):
            raise AssertionError("another state is told")

    def use(self, number):
        super().use(number)
        if hasattr(self, "of_set"):
            self.breaker = self.of_set[number]

    def acquire(self):
        attempt = self.breaker.attempt()
        try:
            # Of a caller of its own: within a probe it would be a part of that.
            Context().run(attempt.__enter__)
        except Rejected as rejected:
            return None, library.UNTIL_RELEASED if rejected.retry_in is None else round(rejected.retry_in * 1_000)
        self.passed += attempt._state == attempts._PASSED
        self.held.append(attempt)
        return attempt, 0

    def trips(self, attempt):
        if attempt.is_probe != (attempt.trips > 0):
            raise AssertionError("not the trips of a probe")
        return attempt.trips

    def report(self, attempt, name, *argument):
        if name == "renew":
            return self.renew(attempt)
        # The rules have changed under it, which they do only here.
        attempt._breaker = self.breaker
        before, error = self.changes, None
        match name, argument:
            case "report", (True,):
                self.unreported += attempt._state == attempts._PASSED and self.breaker._cell.value & 0x7FFFFF == 0
            case "report", _:
                error = Down()
            case "report_failures", (weight,):
                attempt.failure(weight)
            case "report_retry_after", (ms,):
                attempt.failure(retry_after=ms / 1_000)
            case "report_down", (ms,):
                attempt.down(ms / 1_000)
            case "ignore", _:
                error = Rejected("another", None)
            case _:
                error = GivenUp()
        attempt.__exit__(error and type(error), error, None)
        try:
            attempt.failure()
        except RuntimeError:
            # What comes later says nothing.
            pass
        else:
            raise AssertionError("a report after the end")
        return self.changes > before

    def renew(self, attempt):
        token = attempt._token if attempt._state == attempts._HELD else library.Token(~attempt._word)
        holds = RENEW(self.at, self.rules, byref(token), clock.now)
        attempt._token, attempt._state, attempt._forks = token, attempts._HELD, attempts._Process.forks
        return holds

    def command(self, name, *argument):
        before = self.changes
        has_changed = getattr(self.breaker, name)(*(ms / 1_000 for ms in argument))
        if has_changed != (self.changes > before):
            raise AssertionError("another change is told")
        return has_changed

    def shows(self):
        seen = self.breaker.snapshot()
        if self.breaker.state is not seen.state:
            raise AssertionError("two states")
        wait = library.UNTIL_RELEASED if seen.retry_in is None else round(seen.retry_in * 1_000)
        # The package shows no epoch.
        return [library.STATES.index(seen.state), seen.failures, seen.trips, super().shows()[3], wait]

    def end(self):
        # Forgotten, not cancelled.
        for attempt in self.held:
            attempt._state = attempts._OVER


def rules_of(settings):
    rules = create_string_buffer(library.RULES)
    fault = library.rules_init(rules, library.Settings(**settings))
    if fault is not None:
        raise AssertionError(fault.decode())
    return rules


ARGUMENT = {
    "report": "succeeded", "report_failures": "weight", "report_retry_after": "at_least_ms", "report_down": "at_least_ms",
    "trip": "at_least_ms",
}  # fmt: skip
REPORTS = {"report", "ignore", "report_failures", "report_retry_after", "report_down", "cancel", "renew"}
VERSION = 2


def answer(kept, permits, step):
    """Does what a step says. Returns what is answered, by the names of the line."""
    name = step["do"]
    argument = [step[ARGUMENT[name]]] if name in ARGUMENT else []
    if name == "acquire":
        permit, wait = kept.acquire()
        if permit is None:
            return {"admitted": False, "wait": wait}
        permits[step.get("token")] = permit
        return {"admitted": True, "trips": kept.trips(permit)}
    if name in REPORTS:
        permit = permits[step["token"]] if name == "renew" else permits.pop(step["token"])
        return {"holds" if name == "renew" else "changed": kept.report(permit, name, *argument)}
    if name == "look":
        return {}
    if name == "rules":
        kept.use(step["set"])
    elif name == "word":
        kept.word.value = int(step["word"], 16)
    elif name.startswith("restore"):
        if name == "restore":
            holds = RESTORE(kept.at, kept.rules, clock.now)
        elif name == "restore_after":
            holds = RESTORE_AFTER(kept.at, kept.rules, step["asleep_ms"], clock.now)
        else:
            holds = RESTORE_RUNNING(kept.at, kept.rules, clock.now)
        if not holds:
            raise AssertionError("the memory had lost its content")
    else:
        return {"changed": kept.command(name, *argument)}
    return {}


def play(kept, history):
    """Plays a history. Returns the step of the first difference, and the difference."""
    permits = {}
    for step in history["steps"]:
        clock.now = step["now"]
        try:
            answered = answer(kept, permits, step)
            for name, value in answered.items():
                if step[name] != value:
                    return step, f"{name}: {value}"
            if kept.word.value != int(step["word"], 16):
                return step, f"word: {kept.word.value:016x}"
            shown = kept.shows()
        except (AssertionError, KeyError) as error:
            return step, repr(error)
        if shown != step["shows"]:
            return step, f"shows: {shown}"
    return None


def main():
    histories = steps = passed = unreported = differences = 0
    for line in sys.stdin:
        history = json.loads(line)
        if history.get("version") != VERSION:
            sys.exit(f"a line of version {history.get('version')}, and this plays {VERSION}")
        for way in (Kept, ByHand, Package):
            kept = way(history)
            difference = play(kept, history)
            kept.end()
            if difference:
                differences += 1
                if differences <= MOST_PRINTED:
                    step, what = difference
                    print(f"history {histories}, {way.__name__}, {json.dumps(step)}: {what}", file=sys.stderr)
        histories += 1
        steps += len(history["steps"])
        passed += kept.passed
        unreported += kept.unreported
    print(
        f"Python: {histories} histories, {steps} steps, in three ways; by the package {passed} calls passed and "
        f"{unreported} successes ended without the library; {differences} differences"
    )
    # Short cuts that are not taken are not tested.
    return not (histories and passed and unreported and not differences)


sys.exit(main())
