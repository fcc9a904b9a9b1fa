# SPDX-License-Identifier: MIT OR Apache-2.0
"""One guarded call."""

import asyncio
import logging
import os
import warnings
import weakref
from collections.abc import Awaitable, Coroutine
from contextvars import ContextVar
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Self

from . import _library as library
from ._errors import Rejected, SettingsError
from ._failures import says_nothing
from ._header import seconds
from ._rules import Time, milliseconds, number

if TYPE_CHECKING:
    from ._breaker import Breaker


_log = logging.getLogger("atomic_breaker")

_NEW, _PASSED, _HELD, _WITHIN, _GOES_ON, _TOLD, _OVER = range(7)
# The innermost attempt of this thread or task that the library has admitted.
_innermost: ContextVar["weakref.ref[Attempt] | None"] = ContextVar("innermost", default=None)


def _asked(retry_after: Time | str) -> int:
    """Milliseconds."""
    return milliseconds("retry_after", seconds(retry_after))


class Probes:
    """What this process knows of the probes of a breaker, however many objects it has for it."""

    __slots__ = ("__weakref__", "are_nested", "is_told", "latest")

    def __init__(self) -> None:
        self.latest: weakref.ref[Attempt] | None = None
        """The attempt that the library has admitted last: while the breaker is half-open that is a probe."""
        self.are_nested = False
        """A probe was rejected by itself, where its thread or task could not tell: in a thread of a pool, in a dependency of
        a web framework."""
        self.is_told = False
        """A probe was rejected by itself in another process, and that was logged."""


class _Process:
    """How often the process has been forked from another one: a child does not report its parent's calls."""

    forks = 0


def _forked() -> None:
    _Process.forks += 1


os.register_at_fork(after_in_child=_forked)
# Bits of the word, see docs/shared-file.md: closed; and no failure counted either.
_CLOSED = 0x7F
_NOTHING_COUNTED = 0x7FFFFF
_EPOCH = 0x1FF << 55
_FAILURES = (library.report_failures, library.report_retry_after, library.report_down)
# So many errors that are the causes of each other are looked at.
_DEEPEST = 20


class Attempt:
    """The permit of one call: `with breaker.attempt():`, or `async with`.

    Entering it raises Rejected if the breaker is open. Leaving it reports how the call went:

    * without an exception: a success;
    * with an `Exception`: a failure, unless the breaker's `failure` says otherwise: then the resource has answered, and said
      no, which is a success. `Rejected`, of a breaker within, says nothing; a group of exceptions is a failure if one of them
      is;
    * with another one, such as `CancelledError`, `KeyboardInterrupt` or `GeneratorExit`: the call was given up, which counts
      only if it took as long as a slow call, or for a probe as long as the cancel limit.

    Within, the methods say what no exception says. The first of them counts.

    While the breaker is half-open, an attempt within a probe of the same breaker is a part of that probe, as there is no place
    for both: if it fails, the probe has failed, whatever becomes of the exception.
    """

    __slots__ = (
        "__weakref__",
        "_breaker",
        "_forks",
        "_going_on",
        "_limit",
        "_outer",
        "_state",
        "_timeout",
        "_token",
        "_word",
    )

    def __init__(self, breaker: "Breaker", timeout: Time | None) -> None:
        self._breaker = breaker
        self._outer: weakref.ref[Attempt] | None
        self._timeout = None if timeout is None else milliseconds("timeout", timeout) / 1_000
        self._state = _NEW

    def __enter__(self) -> Self:
        if self._timeout is not None:
            self._state = _OVER
            raise TypeError("a timeout needs `async with`; give a blocking call a timeout of its own")
        return self._begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # What the library would do: nothing.
        if error is None and self._state == _PASSED and not self._breaker._cell.value & _NOTHING_COUNTED:
            self._state = _OVER
        else:
            self._end(error)

    def _until(self, result: Awaitable[Any]) -> Coroutine[Any, Any, Any]:
        """Ends the block with what it has begun under way: the same call goes on until that has ended."""
        self._going_on, self._state = self._state, _GOES_ON
        return self._ended_by(result)

    async def _ended_by(self, result: Awaitable[Any]) -> Any:
        try:
            value = await result
        except BaseException as error:
            self._end(error)
            raise
        self._end(None)
        return value

    def __bool__(self) -> NoReturn:
        raise TypeError("an attempt is no answer: `with breaker.attempt():` raises Rejected if it is open")

    async def __aenter__(self) -> Self:
        self._limit = None
        if self._timeout is not None:
            self._limit = asyncio.timeout(self._timeout)
        self._begin()
        if self._limit is not None:
            await self._limit.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._limit is None:
            self._end(error)
            return
        try:
            await self._limit.__aexit__(kind, error, trace)
        except BaseException as other:
            self._end(other, is_late=self._is_late())
            raise
        self._end(error, is_late=self._is_late())

    def _is_late(self) -> bool:
        """Whether the timeout is over, even if the block did not wait, or caught the cancellation."""
        limit = self._limit
        when = None if limit is None else limit.when()
        try:
            return when is not None and asyncio.get_running_loop().time() >= when
        except RuntimeError:
            # Dropped, after its loop has ended.
            return False

    @property
    def is_probe(self) -> bool:
        """Whether this call decides if the breaker closes: what stays broken until it is reset should be repaired now."""
        return self.trips > 0

    @property
    def trips(self) -> int:
        """How often the breaker has opened in a row if this is a probe: how far to repair first. Otherwise 0."""
        return int(library.trips(byref(self._token))) if self._state == _HELD and self._is_own() else 0

    def renew(self) -> bool:
        """The call begins only now, after the repair before a probe: with `slow_call` the time of the repair would count.

        Returns whether the report still counts. If not, the breaker has gone on without it, and another call may be the probe.
        """
        if self._state != _HELD or not self._is_own():
            return self._state == _PASSED
        breaker = self._breaker
        return bool(library.renew(breaker._word, breaker._rules, byref(self._token), library.now_ms()))

    def success(self) -> None:
        """The call succeeded, whatever exception follows."""
        self._report(library.report, True)

    def failure(self, weight: int = 1, *, retry_after: Time | str | None = None) -> None:
        """The call failed, without an exception: a response that says so, for example. Counts as so many, at most
        65535; 0 counts only in a probe, which has failed whatever its weight.

        retry_after: the server asks for a pause of seconds, a timedelta, or the text of a header Retry-After, which may be a
            date. The failure counts as one; if the breaker opens by it, then for at least this long, but no longer than
            `max_retry_after`. On its own it opens nothing: one overloaded server of twenty does not speak for the others. It
            comes from outside: what is over, or is neither, says nothing.
        """
        if retry_after is None:
            self._report(library.report_failures, number("weight", weight, 0, 65_535))
        elif weight != 1:
            raise SettingsError("weight, retry_after: one of them")
        else:
            self._report(library.report_retry_after, _asked(retry_after))

    def down(self, retry_after: Time | str | None = None) -> None:
        """The whole resource is down, and said so: opens at once, for at least this long, but no longer than
        `max_retry_after`. For one of several servers, `failure(retry_after=...)`.

        retry_after: as of `failure`.
        """
        self._report(library.report_down, _asked(retry_after or 0))

    def ignore(self) -> None:
        """The call says nothing about the resource: the request was wrong, for example."""
        self._report(library.ignore)

    def cancel(self) -> None:
        """The call was not made, or was given up."""
        self._report(library.cancel)

    def _begin(self) -> Self:
        if self._state != _NEW:
            raise RuntimeError("an attempt is one call: ask the breaker for another one")
        breaker = self._breaker
        self._forks = _Process.forks
        self._word = breaker._cell.value
        if not self._word & _CLOSED:
            self._state = _PASSED
            return self
        before = breaker._shown.value
        permit = library.acquire(breaker._word, breaker._rules, library.now_ms())
        if not permit.admitted:
            if self._is_within_a_probe():
                return self
            self._state = _OVER
            wait = None if permit.wait_ms == library.UNTIL_RELEASED else permit.wait_ms / 1_000
            raise Rejected(breaker.name, wait, breaker._probes)
        self._token = permit.token
        self._state = _HELD
        self._outer = _innermost.get()
        reference: weakref.ref[Attempt] = weakref.ref(self)
        _innermost.set(reference)
        breaker._probes.latest = reference
        if (before ^ ~permit.token.word) & _EPOCH:
            # The first probe, or the first call after a return.
            breaker._changed()
        return self

    def _is_own(self) -> bool:
        return self._forks == _Process.forks

    def _is_within_a_probe(self) -> bool:
        """Whether this thread or task is in a probe of the same breaker; then the outcome is reported by that one."""
        probes = self._breaker._probes
        found = _innermost.get()
        while found is not None and (outer := found()) is not None:
            if outer.is_probe and outer._breaker._probes is probes:
                return self._joins(found)
            found = outer._outer
        if probes.are_nested and (found := probes.latest) is not None:
            outer = found()
            return outer is not None and outer.is_probe and self._joins(found)
        return False

    def _joins(self, probe: "weakref.ref[Attempt]") -> bool:
        self._state, self._outer = _WITHIN, probe
        # Somebody else may have opened it meanwhile.
        return self._breaker.state == library.State.HALF_OPEN

    def _end(self, error: BaseException | None, *, is_late: bool = False) -> None:
        if self._state == _GOES_ON:
            self._state = self._going_on
            self._leave()
            return
        if self._state in (_TOLD, _OVER):
            pass
        elif is_late:
            self._report(library.report, False, error=error or TimeoutError())
        elif error is None:
            self._report(library.report, True)
        elif not isinstance(error, Exception):
            self._report(library.cancel)
        elif self.is_probe and self._has_rejected(error):
            if not self._breaker._probes.are_nested:
                self._breaker._probes.are_nested = True
                _log.warning("%s: a probe was rejected by itself: guard each call once", self._breaker._where())
            self._report(library.ignore)
        elif self._breaker._is_failure(error):
            self._report(library.report, False, error=error)
        elif says_nothing(error):
            if self.is_probe and self._was_rejected_elsewhere(error):
                self._breaker._probes.is_told = True
                _log.warning(
                    "%s: a probe was rejected by itself in another process, and so will each be: guard each call once",
                    self._breaker._where(),
                )
            self._report(library.ignore)
        else:
            self._report(library.report, True)
        self._state = _OVER
        self._leave()

    def _leave(self) -> None:
        innermost = _innermost.get()
        if innermost is not None and innermost() is self:
            _innermost.set(self._outer)

    def _has_rejected(self, error: Exception) -> bool:
        """Whether a call within was rejected by this probe, also if that came out in a group, or as the cause of another error."""
        if isinstance(error, ExceptionGroup):
            rejected = [self._has_rejected(it) for it in error.exceptions]
            is_more = (not own and self._breaker._is_failure(it) for own, it in zip(rejected, error.exceptions))
            return any(rejected) and not any(is_more)
        found: BaseException | None = error
        for _ in range(_DEEPEST):
            if isinstance(found, Rejected) and found._probes is self._breaker._probes:
                # One that is handled, in a loop that tries again, may be of before.
                if found is error or (found._during is not None and found._during() is self):
                    return True
            found = found and (found.__cause__ or found.__context__)
        return False

    def _was_rejected_elsewhere(self, error: Exception) -> bool:
        """Whether this came from another process, which cannot know that it works for a probe of the same breaker."""
        is_first = not self._breaker._probes.is_told
        return is_first and isinstance(error, Rejected) and error._probes is None and error.name == self._breaker.name

    def _report(self, function: Any, *argument: Any, error: BaseException | None = None) -> None:
        state, self._state = self._state, _TOLD
        if state == _TOLD:
            return
        if state == _NEW:
            raise RuntimeError("not begun: `with breaker.attempt() as attempt:`")
        if state == _OVER:
            raise RuntimeError("the attempt is over: say within the block how the call went")
        if state == _WITHIN:
            outer = self._outer() if self._outer is not None else None
            is_bad = function in _FAILURES or argument == (False,)
            if outer is not None and outer._state == _HELD and is_bad:
                outer._report(function, *argument, error=error)
            return
        if not self._is_own():
            return
        breaker = self._breaker
        token = self._token if state == _HELD else library.Token(~self._word)
        if function(breaker._word, breaker._rules, byref(token), *argument, library.now_ms()):
            breaker._changed(error)

    def __del__(self) -> None:
        state = getattr(self, "_state", _OVER)
        if state == _HELD:
            # Entered and never left: a generator that was dropped, for example.
            self._report(library.cancel)
        elif state == _NEW:
            warnings.warn("an attempt that was not entered guards nothing: `with breaker.attempt():`", RuntimeWarning, 2)
