# SPDX-License-Identifier: MIT OR Apache-2.0
"""One breaker, in a file or in memory that forked processes share."""

import functools
import inspect
import logging
import os
import weakref
from collections.abc import Awaitable, Callable
from ctypes import c_uint64
from dataclasses import dataclass
from typing import Any, ParamSpec, Self, TypeVar, cast

from . import _library as library
from ._attempt import Attempt, Probes
from ._errors import printable
from ._failures import Failure, judge
from ._file import File, StrPath
from ._library import Origin, State
from ._rules import Rules, Time, milliseconds

P = ParamSpec("P")
R = TypeVar("R")
OnChange = Callable[["Breaker", State], None]

# Without a path.
PRIVATE: Any = object()
# Of each file and key that is open.
_probes: "weakref.WeakValueDictionary[Any, Probes]" = weakref.WeakValueDictionary()

_log = logging.getLogger("atomic_breaker")


def placed(path: StrPath | None) -> StrPath | None:
    """Where the memory is. A path that is None is logged: it may come from an environment that lacks the variable."""
    if path is None:
        _log.warning("a breaker whose path is None: only this process and those that are forked from it share it")
    return None if path is PRIVATE else path


@dataclass(frozen=True)
class Snapshot:
    """What a breaker looks like at the moment."""

    state: State
    failures: int
    """Counted while closed or returning."""
    trips: int
    """In a row, not forgotten yet; at most 31."""
    retry_in: float | None
    """0 if a call may pass now; None if an operator holds it open; otherwise seconds."""


class Breaker:
    """One breaker, shared by all processes that open the same file.

    path: where it is: in a folder of the service in /run, or in /dev/shm. Without one, it is shared with the processes that
        are forked from now on, and nobody else. None is the same, and logged.
    rules: the same in all of them.
    failure: which exceptions are failures of the resource: a function that says so, their class, or several classes in a
        tuple. By default all but those that are no `Exception`.
    on_change: called with the breaker and its new state when a call or command of this process has changed it. Changes are
        logged anyway, by the logger "atomic_breaker".
    replace_unused: replaces a file that was made with other rules, if no process uses it.

    Raises SetupError: it could not be opened. The text names the file, and says what to do.
    """

    def __init__(
        self,
        path: StrPath | None = PRIVATE,
        rules: Rules = Rules(),
        *,
        failure: Failure | None = None,
        on_change: OnChange | None = None,
        replace_unused: bool = False,
    ) -> None:
        is_failure = judge(failure)
        file = File(placed(path), rules, library.Options(0, 0, replace_unused))
        name = "breaker" if file.path is None else os.path.basename(file.path)
        again = functools.partial(Breaker, failure=failure, on_change=on_change, replace_unused=replace_unused)
        self._place(file, None, name, is_failure, on_change, (again, (file.path, rules)))

    def _place(
        self,
        file: File,
        key: bytes | None,
        name: str,
        is_failure: Callable[[Exception], bool],
        on_change: OnChange | None,
        again: tuple[Any, ...],
    ) -> None:
        self._file, self._rules, self._word = file, file.rules, file.breaker(key)
        # A closed breaker is one load of its word, of 64 bits at a multiple of 8. Where the time of a call matters, the
        # library sees every call: this cell is never closed.
        self._shown = c_uint64.from_address(self._word)
        self._cell = c_uint64(1) if file.measures else self._shown
        self.name = name
        self._is_keyed = key is not None
        self._probes = _probes.setdefault((file.identity, key), Probes())
        self._is_failure = is_failure
        self._on_change = on_change
        # How another process gets the same one.
        self._again = again

    def attempt(self, *, timeout: Time | None = None) -> Attempt:
        """One guarded call: `with breaker.attempt():`, or `async with`.

        timeout: with `async with`, how long the call may take; then it is a failure, and TimeoutError is raised. A timeout
            around it cancels the call instead, which counts only with a `slow_call` in the rules.
        """
        return Attempt(self, timeout)

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        """Guards each call of a function, or coroutine function: `@breaker`."""
        if isinstance(function, (staticmethod, classmethod)):
            return cast(Callable[P, R], type(function)(self(function.__func__)))
        if not callable(function):
            raise TypeError(f"a breaker guards a function, not {function!r}")
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
                # A proxy has every attribute. Types are asked second, as that is slow.
                if not hasattr(result, "__await__") or not hasattr(type(result), "__await__"):
                    return result
                awaitable = cast(Awaitable[Any], result)
                if not inspect.iscoroutine(result):
                    # Under way, as a task is, or a call of `grpc.aio`.
                    return cast(R, attempt._until(awaitable))
                # Nothing has happened yet.
                attempt.cancel()
            return cast(R, self._awaited(awaitable))

        return guarded

    async def _awaited(self, result: Awaitable[Any]) -> Any:
        async with self.attempt():
            return await result

    @property
    def state(self) -> State:
        """What a call would meet now: open only while calls are rejected, half-open as soon as the open time is over."""
        return library.STATES[int(library.state(self._word, self._rules, library.now_ms()))]

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

    def _changed(self, error: BaseException | None = None) -> None:
        seen = self.snapshot()
        state = seen.state
        text = f"{self._where()}: {state}"
        if state == State.OPEN and seen.retry_in is not None:
            text += f" for {seen.retry_in:.1f} s"
        if error is not None:
            # Not its text, which may hold what is secret.
            text += f", after {type(error).__name__}"
        # What opens is worth a warning, and so is that calls pass again.
        _log.log(logging.INFO if state == State.HALF_OPEN else logging.WARNING, "%s", text)
        if self._file.is_newly_removed():
            _log.warning(
                "%s was removed while it is in use: processes that start from now on have breakers of their own",
                printable(self._file.path or ""),
            )
        if self._on_change is not None:
            try:
                self._on_change(self, state)
            except Exception:
                _log.exception("%s: on_change failed", self._where())

    def _where(self) -> str:
        path, name = self._file.path, printable(self.name)
        if path is None:
            return name
        return f"{path}[{name}]" if self._is_keyed else printable(path)

    def __repr__(self) -> str:
        return f"<Breaker {printable(self.name)}: {self.state}>"

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self

    def __reduce__(self) -> Any:
        if self._file.path is None:
            raise TypeError("a breaker without a file cannot be sent to another process: give it a path")
        return self._again
