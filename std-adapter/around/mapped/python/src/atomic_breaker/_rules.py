# SPDX-License-Identifier: MIT OR Apache-2.0
"""When a breaker opens, for how long, and how it closes."""

import ctypes
import math
import os
from dataclasses import dataclass, fields
from datetime import timedelta
from typing import Any, Self

from . import _library as library
from ._errors import SettingsError

Time = float | timedelta
"""Seconds, or a timedelta."""

_MOST = 2**32 - 1
_LONGEST_MS = 2**31


def milliseconds(name: str, time: Time) -> int:
    """Rounded up, so that nothing becomes nothing."""
    if isinstance(time, bool) or not isinstance(time, (int, float, timedelta)):
        raise SettingsError(f"{name}: {time!r} is neither seconds nor a timedelta")
    seconds = time.total_seconds() if isinstance(time, timedelta) else time
    if not 0 <= seconds * 1_000 <= _LONGEST_MS:
        raise SettingsError(f"{name}: {seconds:g} s is not between 0 and 2147483.648 s, which are 24 days")
    # 0.07 s is 70.00000000000001 ms in binary.
    return math.ceil(round(seconds * 1_000, 6))


def number(name: str, value: int, least: int = 0, most: int = _MOST) -> int:
    """A whole number that the library takes: it has no others."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise SettingsError(f"{name}: {value!r} is not a whole number from {least} to {most}")
    return value


def _pair(name: str, value: Any, parts: str) -> tuple[Any, Any]:
    if not isinstance(value, tuple) or len(value) != 2:
        raise SettingsError(f"{name}: {value!r} is not ({parts})")
    return value


# What the library calls those that have another name here.
_NAMES = {
    "failures": "consecutive_failures",
    "window_ms": "failures_within",
    "growth_percent": "exponential",
    "growth_step_ms": "linear",
    "return_first_percent": "gradual_return",
    "return_over_ms": "gradual_return",
}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The rules of a breaker: the same in all processes that share it. Times are seconds, or timedeltas.

    >>> Rules(consecutive_failures=3, open_for=1, exponential=(2, 60), jitter_percent=20)
    Rules(consecutive_failures=3, open_for=1, exponential=(2, 60), jitter_percent=20)
    """

    consecutive_failures: int = 5
    """Opens after so many failures with no success between them: 1 to 65535."""
    lasting: Time = 0.0
    """Only if the first of them is at least so long ago: a service that is called often loses a few calls at once. With it at
    most 32767 failures."""
    failures_within: tuple[int, Time] | None = None
    """In place of both: so many failures within this time."""
    open_for: Time = 5.0
    """How long calls are rejected: at most 2^31 ms, 24 days, as each of these times."""
    exponential: tuple[float, Time] | None = None
    """Each further trip in a row lasts so many times as long (more than 1), up to a maximum. Trips are forgotten once calls have
    passed for as long as it was last open."""
    linear: tuple[Time, Time] | None = None
    """Or so much longer, up to a maximum."""
    jitter_percent: int = 0
    """Lengthens each open time by a random part of it: 0 to 100."""
    max_retry_after: Time = 300.0
    """The longest that a resource may ask for: `Attempt.failure`, `Attempt.down`."""
    probes: int = 1
    """Calls in flight while half-open: 1 to 255."""
    close_after: int | None = None
    """Successes of probes that close it; as many as probes by default."""
    probe_lease: Time = 30.0
    """A probe that does not end is given up after this time: longer than the longest call."""
    cancel_limit: Time = 0.25
    """A probe that is cancelled later than this has failed."""
    slow_call: Time | None = None
    """A call that took so long is a failure, also if it succeeded or was given up by a timeout around it."""
    gradual_return: tuple[int, Time] | None = None
    """Traffic returns gradually: the percentage at first, and over which time."""

    def __post_init__(self) -> None:
        fault = library.rules_init(ctypes.create_string_buffer(library.RULES), self._settings())
        if fault is not None:
            raise SettingsError(self._explained(fault.decode()))

    def _explained(self, fault: str) -> str:
        """What the library says of one of its settings, in the words of this class."""
        name, _, reason = fault.partition(": ")
        growth = "exponential" if self.exponential else "linear"
        if name == "max_open_ms":
            return f"{growth}: {'a maximum below open_for' if 'open_ms' in reason else reason}"
        if name == "open_ms or max_open_ms":
            is_growing = self.exponential or self.linear
            return f"open_for{f', or the maximum of {growth}' if is_growing else ''}: {reason} ms"
        if name == "close_after":
            return "close_after: probes to 255"
        if name == "lasting_ms":
            return f"lasting: {reason.replace('2^31,', '2^31 ms,')}"
        if name == "failures" and self.failures_within is not None:
            name = "failures_within"
        name = _NAMES.get(name, name.removesuffix("_ms"))
        if name == "open":
            name = "open_for"
        return f"{name}: {reason} ms" if fault.partition(": ")[0].endswith("_ms") else f"{name}: {reason}"

    @classmethod
    def read(cls, file: str | os.PathLike[str], name: str) -> Self:
        """Those of the table `[name]` in a TOML file, which other languages may read, too.

        Raises SettingsError: what is wrong with the file; SystemRefused: it cannot be read.
        """
        if not isinstance(name, str) or "\0" in name:
            raise SettingsError(f"name: {name!r} is not the name of a table")
        it = library.Settings()
        library.checked(library.settings_read, it, os.fsencode(file), name.encode())

        def pair(first: int, second: int) -> tuple[int, float] | None:
            return (first, second / 1_000) if first else None

        return cls(
            consecutive_failures=it.failures if not it.window_ms else 5,
            lasting=it.lasting_ms / 1_000,
            failures_within=(it.failures, it.window_ms / 1_000) if it.window_ms else None,
            open_for=it.open_ms / 1_000,
            exponential=(it.growth_percent / 100, it.max_open_ms / 1_000) if it.growth_percent else None,
            linear=(it.growth_step_ms / 1_000, it.max_open_ms / 1_000) if it.growth_step_ms else None,
            jitter_percent=it.jitter_percent,
            max_retry_after=it.max_retry_after_ms / 1_000,
            probes=it.probes,
            close_after=it.close_after or None,
            probe_lease=it.probe_lease_ms / 1_000,
            cancel_limit=it.cancel_limit_ms / 1_000,
            slow_call=it.slow_call_ms / 1_000 if it.slow_call_ms else None,
            gradual_return=pair(it.return_first_percent, it.return_over_ms),
        )

    def _settings(self) -> library.Settings:
        def time(name: str, value: Time) -> int:
            return milliseconds(name, value)

        it = library.Settings()
        it.failures = number("consecutive_failures", self.consecutive_failures)
        it.lasting_ms = time("lasting", self.lasting)
        if self.failures_within is not None:
            failures, window = _pair("failures_within", self.failures_within, "failures, seconds")
            if self.consecutive_failures != 5:
                raise SettingsError("consecutive_failures, failures_within: one of them")
            if it.lasting_ms:
                raise SettingsError("lasting, failures_within: one of them")
            it.failures, it.window_ms = number("failures_within", failures), time("failures_within", window)
            if it.window_ms == 0:
                raise SettingsError("failures_within: a window of 0 counts nothing")
        it.open_ms = time("open_for", self.open_for)
        if self.exponential is not None:
            factor, most = _pair("exponential", self.exponential, "factor, most seconds")
            if isinstance(factor, bool) or not isinstance(factor, (int, float)) or not 1 < factor <= _MOST / 100:
                raise SettingsError(f"exponential: {factor!r} is no factor above 1")
            it.growth_percent, it.max_open_ms = round(factor * 100), time("exponential", most)
            if it.growth_percent == 100:
                raise SettingsError(f"exponential: {factor!r} grows by less than 1 %")
        if self.linear is not None:
            step, most = _pair("linear", self.linear, "seconds, most seconds")
            it.growth_step_ms, it.max_open_ms = time("linear", step), time("linear", most)
            if self.exponential is not None:
                raise SettingsError("exponential, linear: one of them")
            if it.growth_step_ms == 0:
                raise SettingsError("linear: a step of 0 does not grow")
        it.jitter_percent = number("jitter_percent", self.jitter_percent)
        it.max_retry_after_ms = time("max_retry_after", self.max_retry_after)
        it.probes = number("probes", self.probes)
        if self.close_after is not None:
            it.close_after = number("close_after", self.close_after) or _MOST
        it.probe_lease_ms = time("probe_lease", self.probe_lease)
        it.cancel_limit_ms = time("cancel_limit", self.cancel_limit)
        if self.slow_call is not None:
            it.slow_call_ms = time("slow_call", self.slow_call)
            if it.slow_call_ms == 0:
                raise SettingsError("slow_call: with 0 every call is slow: lengthen it or leave it out")
        if self.gradual_return is not None:
            percent, over = _pair("gradual_return", self.gradual_return, "percent, seconds")
            it.return_first_percent = number("gradual_return", percent)
            it.return_over_ms = time("gradual_return", over)
            if not percent or not it.return_over_ms:
                raise SettingsError("gradual_return: 1 to 100 percent, over more than 0 s")
        return it

    def __repr__(self) -> str:
        changed = (field for field in fields(self) if getattr(self, field.name) != field.default)
        return f"Rules({', '.join(f'{it.name}={getattr(self, it.name)!r}' for it in changed)})"
