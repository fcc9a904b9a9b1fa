# SPDX-License-Identifier: MIT OR Apache-2.0
"""Breakers, in a file or in memory that forked processes share."""

import functools
import inspect
import logging
import os
from collections.abc import Awaitable, Callable, Iterator
from ctypes import c_uint64, string_at
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ParamSpec, Self, TypeVar, cast

from . import _library as library
from ._attempt import Attempt
from ._library import Origin, State
from ._rules import Rules, Time, milliseconds

P = ParamSpec("P")
R = TypeVar("R")
Failure = Callable[[Exception], bool]
OnChange = Callable[["Breaker", State], None]
StrPath = str | os.PathLike[str]

_log = logging.getLogger("atomic_breaker")


@dataclass(frozen=True)
class Snapshot:
    """What a breaker looks like at the moment."""

    state: State
    failures: int
    """Counted while closed or returning."""
    trips: int
    """In a row, without closing in between; at most 31."""
    retry_in: float | None
    """0 if a call may pass now; None if an operator holds it open; otherwise seconds."""


class _File:
    """A file that is open, or memory without one. Closed when nobody uses it any more."""

    def __init__(self, path: StrPath | None, rules: Rules, options: library.Options) -> None:
        where = None if path is None else os.fsencode(path)
        self.map = library.checked(library.map_open, where, rules._settings(), options)
        self.rules = library.map_rules(self.map)
        self.measures = rules.slow_call is not None

    def breaker(self, name: bytes | None) -> Any:
        return library.checked(library.map_breaker, self.map, name)

    def __del__(self, close: Any = library.map_close) -> None:
        if getattr(self, "map", None):
            close(self.map)


class Breaker:
    """One breaker, shared by all processes that open the same file.

    path: where it is: in a folder of the service in /run, or in /dev/shm. Without one, it is shared with the processes that
        are forked from now on, and nobody else.
    rules: the same in all of them.
    failure: which exceptions are failures of the resource; by default all but those that are no `Exception`.
    on_change: called with the breaker and its new state when a call or command of this process has changed it. Changes are
        logged anyway, by the logger "atomic_breaker".
    replace_unused: replaces a file that was made with other rules, if no process uses it.

    Raises BreakerError: it could not be opened. The text names the file, and says what to do.
    """

    def __init__(
        self,
        path: StrPath | None = None,
        rules: Rules = Rules(),
        *,
        failure: Failure | None = None,
        on_change: OnChange | None = None,
        replace_unused: bool = False,
    ) -> None:
        file = _File(path, rules, library.Options(0, 0, replace_unused))
        name = "breaker" if path is None else Path(os.fsdecode(path)).name
        again = None if path is None else (path, rules, failure, on_change)
        self._place(file, None, name, failure, on_change, again)

    def _place(
        self,
        file: _File,
        key: bytes | None,
        name: str,
        failure: Failure | None,
        on_change: OnChange | None,
        again: tuple[Any, ...] | None,
    ) -> None:
        self._file, self._rules, self._word = file, file.rules, file.breaker(key)
        # A closed breaker is one load of its word, of 64 bits at a multiple of 8. Where the time of a call matters, the
        # library sees every call: this cell is never closed.
        self._cell = c_uint64(1) if file.measures else c_uint64.from_address(self._word)
        self.name = name
        self._is_failure: Failure = failure or _every
        self._on_change = on_change
        self._again = again

    def attempt(self, *, timeout: Time | None = None) -> Attempt:
        """One guarded call: `with breaker.attempt():`, or `async with`.

        timeout: with `async with`, how long the call may take; then it is a failure, and TimeoutError is raised. A timeout
            around it cancels the call instead, which counts only with a `slow_call` in the rules.
        """
        return Attempt(self, timeout)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Guards each call of a function, or coroutine function: `@breaker`."""
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError("a generator's work is done while it is read: use `with breaker.attempt():` within it")
        if inspect.isclass(function):
            raise TypeError("guard the methods of a class, not the class")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def guarded_coroutine(*args: P.args, **kwargs: P.kwargs) -> Any:
                async with self.attempt():
                    return await function(*args, **kwargs)

            return cast(Callable[P, R], guarded_coroutine)

        @functools.wraps(function)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
            with self.attempt() as attempt:
                result = function(*args, **kwargs)
                if not hasattr(result, "__await__"):
                    return result
                # Nothing has happened yet.
                attempt.cancel()
            return cast(R, self._awaited(result))

        return guarded

    async def _awaited(self, result: Awaitable[Any]) -> Any:
        async with self.attempt():
            return await result

    @property
    def state(self) -> State:
        """What it does with calls at the moment."""
        return library.STATES[int(library.state(self._word))]

    def snapshot(self) -> Snapshot:
        """What it looks like at the moment, for displays and logs."""
        seen = library.snapshot(self._word, self._rules, library.now_ms())
        wait = None if seen.wait_ms == library.UNTIL_RELEASED else seen.wait_ms / 1_000
        return Snapshot(library.STATES[seen.state], seen.failures, seen.trips, wait)

    @property
    def origin(self) -> Origin:
        """Where its memory came from: whether another process had made it."""
        return library.ORIGINS[int(library.map_origin(self._file.map)) - 1]

    def trip(self, at_least: Time = 0) -> bool:
        """Opens it, for at least this long. This and the other commands say whether the state has changed."""
        made = library.trip(self._word, self._rules, milliseconds("at_least", at_least), library.now_ms())
        return self._told(made)

    def force_open(self) -> bool:
        """Opens it until `release()`."""
        return self._command("force_open")

    def release(self) -> bool:
        """Ends `force_open()`: the next call is a probe."""
        return self._command("release")

    def disable(self) -> bool:
        """Lets every call pass until `enable()`."""
        return self._command("disable")

    def enable(self) -> bool:
        """Ends `disable()`."""
        return self._command("enable")

    def reset(self) -> bool:
        """Closes it, with nothing counted."""
        return self._command("reset")

    def probe_now(self) -> bool:
        """Ends the open time: the next call is a probe."""
        return self._command("probe_now")

    def _command(self, name: str) -> bool:
        return self._told(library.COMMANDS[name](self._word, self._rules, library.now_ms()))

    def _told(self, has_changed: bool) -> bool:
        if has_changed:
            self._changed()
        return has_changed

    def _changed(self) -> None:
        state = self.state
        opened = state in (State.OPEN, State.FORCED_OPEN)
        _log.log(logging.WARNING if opened else logging.INFO, "%s: %s", self.name, state)
        if self._on_change is not None:
            try:
                self._on_change(self, state)
            except Exception:
                _log.exception("%s: on_change failed", self.name)

    def __repr__(self) -> str:
        return f"<Breaker {self.name}: {self.state}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        if self._again is None:
            raise TypeError("a breaker without a file of its own cannot be sent to another process: give it a path")
        path, rules, failure, on_change = self._again
        return functools.partial(Breaker, failure=failure, on_change=on_change), (path, rules)


class Breakers:
    """A breaker for each of many keys, such as hosts: `hosts["a.example"]`. All have the same rules.

    keys: how many fit, at most 2^20.
    key_bytes: of the longest key in UTF-8, at most 1000.

    The others are those of `Breaker`.
    """

    def __init__(
        self,
        path: StrPath | None = None,
        rules: Rules = Rules(),
        *,
        keys: int = 1_024,
        key_bytes: int = 98,
        failure: Failure | None = None,
        on_change: OnChange | None = None,
        replace_unused: bool = False,
    ) -> None:
        self._file = _File(path, rules, library.Options(keys, key_bytes, replace_unused))
        self._failure, self._on_change = failure, on_change
        self._known: dict[str, Breaker] = {}

    def __getitem__(self, key: str) -> Breaker:
        """The breaker of a key, which gets a place if it has none.

        Raises NoRoom: all places are taken. SettingsError: the key is too long.
        """
        found = self._known.get(key)
        if found is None:
            found = Breaker.__new__(Breaker)
            encoded = key.encode(errors="surrogateescape")
            if 0 in encoded:
                raise ValueError("a key with a zero character")
            found._place(self._file, encoded, key, self._failure, self._on_change, None)
            self._known[key] = found
        return found

    def __iter__(self) -> Iterator[str]:
        """The keys that have a breaker, of all processes."""
        found: list[bytes] = []

        def each(_context: Any, name: Any, length: int, _word: Any) -> None:
            found.append(string_at(name, length))

        library.map_each(self._file.map, library.EACH(each), None)
        return iter([key.decode(errors="surrogateescape") for key in found])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def items(self) -> Iterator[tuple[str, Breaker]]:
        """The keys that have a breaker, of all processes, with their breakers."""
        return ((key, self[key]) for key in self)


def _every(_error: Exception) -> bool:
    return True
