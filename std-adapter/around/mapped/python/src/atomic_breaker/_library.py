# SPDX-License-Identifier: MIT OR Apache-2.0
"""The library's functions and types: atomic_breaker.h and atomic_breaker_map.h."""

import ctypes
import enum
import pathlib
from ctypes import POINTER, Structure, byref, c_bool, c_char, c_char_p, c_size_t, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any

from ._errors import BY_STATUS, SetupError

_PATH = pathlib.Path(__file__).with_name("libatomic_breaker.so")

UNTIL_RELEASED = 0xFFFFFFFF


class State(enum.StrEnum):
    """What a breaker does with calls; `str()` of it is for displays."""

    CLOSED = "closed"
    """Every call passes."""
    OPEN = "open"
    """Every call is rejected until the open time is over."""
    HALF_OPEN = "half-open"
    """A few probes pass."""
    RETURNING = "returning"
    """Enough probes have succeeded, but trips are not forgotten yet: every call passes, or with a gradual return a growing
    share."""
    FORCED_OPEN = "forced open"
    """Every call is rejected until `release()`."""
    DISABLED = "disabled"
    """Every call passes, nothing is learned."""


# By the number that the library has for it.
STATES = tuple(State)


class Origin(enum.StrEnum):
    """Where the memory of a breaker came from."""

    CREATED = "created"
    """By this process."""
    JOINED = "joined"
    """By another process; or by this one, earlier."""
    AFTER_RESTART = "after a restart"
    """By this process, in place of a file from before the machine was restarted."""
    AFTER_OTHER_RULES = "after other rules"
    """By this process, in place of an unused file with other rules."""


# By the number that the library has for it, from 1.
ORIGINS = tuple(Origin)


class Token(Structure):
    _fields_ = [("word", c_uint64), ("start_ms", c_uint32)]


class Permit(Structure):
    _fields_ = [("admitted", c_bool), ("wait_ms", c_uint32), ("token", Token)]


class Settings(Structure):
    _fields_ = [
        (name, c_uint32)
        for name in (
            "failures",
            "window_ms",
            "lasting_ms",
            "open_ms",
            "growth_percent",
            "growth_step_ms",
            "max_open_ms",
            "jitter_percent",
            "seed",
            "max_retry_after_ms",
            "probes",
            "close_after",
            "probe_lease_ms",
            "cancel_limit_ms",
            "slow_call_ms",
            "return_first_percent",
            "return_over_ms",
        )
    ]


# Of `ab_rules`, in bytes.
RULES = 26 * 4


class Options(Structure):
    _fields_ = [("keys", c_uint32), ("key_bytes", c_uint32), ("replace_unused", c_bool)]


class Seen(Structure):
    _fields_ = [(name, c_uint32) for name in ("state", "failures", "trips", "epoch", "wait_ms")]


class _Error(Structure):
    _fields_ = [("status", c_uint32), ("text", c_char * 500)]


EACH = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t, c_void_p)

# Those that wait or call back, without the lock of the interpreter; the others take less than what giving it up costs.
_slow = ctypes.CDLL(str(_PATH))
_fast = ctypes.PyDLL(str(_PATH))


def _function(library: Any, name: str, result: Any, *arguments: Any) -> Any:
    function = library[name]
    function.restype, function.argtypes = result, arguments
    return function


_word, _rules = c_void_p, c_void_p

map_open = _function(_slow, "ab_map_open", c_void_p, c_char_p, POINTER(Settings), POINTER(Options), POINTER(_Error))
map_breaker = _function(_slow, "ab_map_breaker", c_void_p, c_void_p, c_char_p, POINTER(_Error))
map_rules = _function(_fast, "ab_map_rules", c_void_p, c_void_p)
map_origin = _function(_fast, "ab_map_origin", c_uint32, c_void_p)
map_is_removed = _function(_fast, "ab_map_is_removed", c_bool, c_void_p)
map_each = _function(_fast, "ab_map_each", None, c_void_p, EACH, c_void_p)
map_close = _function(_fast, "ab_map_close", None, c_void_p)
now_ms = _function(_fast, "ab_now_ms", c_uint32)
rules_init = _function(_fast, "ab64_rules_init", c_char_p, c_void_p, POINTER(Settings))
settings_read = _function(_slow, "ab_settings_read", c_bool, POINTER(Settings), c_char_p, c_char_p, POINTER(_Error))

acquire = _function(_fast, "ab64_acquire", Permit, _word, _rules, c_uint32)


def _report(name: str, *more: Any) -> Any:
    return _function(_fast, f"ab64_{name}", c_bool, _word, _rules, POINTER(Token), *more, c_uint32)


report = _report("report", c_bool)
ignore = _report("ignore")
report_failures = _report("report_failures", c_uint16)
report_retry_after = _report("report_retry_after", c_uint32)
report_down = _report("report_down", c_uint32)
cancel = _report("cancel")
renew = _report("renew")
trips = _function(_fast, "ab64_trips", c_uint32, POINTER(Token))
state = _function(_fast, "ab64_state", c_uint32, _word, _rules, c_uint32)
snapshot = _function(_fast, "ab64_snapshot", Seen, _word, _rules, c_uint32)
trip = _function(_fast, "ab64_trip", c_bool, _word, _rules, c_uint32, c_uint32)
COMMANDS = {
    name: _function(_fast, f"ab64_{name}", c_bool, _word, _rules, c_uint32)
    for name in ("force_open", "release", "disable", "enable", "reset", "probe_now")
}


def checked(function: Any, *arguments: Any) -> Any:
    """Calls a function whose last argument is where an error goes; raises that."""
    error = _Error()
    result = function(*arguments, byref(error))
    if error.status:
        kind = BY_STATUS.get(error.status, SetupError)
        raise kind(error.text.decode(errors="replace"))
    return result
