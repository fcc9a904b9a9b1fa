# SPDX-License-Identifier: MIT OR Apache-2.0
"""One guarded call."""

import asyncio
from ctypes import byref
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from . import _library as library
from ._errors import Rejected
from ._header import seconds
from ._rules import Time, milliseconds

if TYPE_CHECKING:
    from ._breaker import Breaker


_NEW, _PASSED, _HELD, _OVER = range(4)
# Bits of the word, see docs/shared-file.md: closed; and no failure counted either.
_CLOSED = 0x7F
_NOTHING_COUNTED = 0x7FFFFF


class Attempt:
    """The permit of one call: `with breaker.attempt():`, or `async with`.

    Entering it raises Rejected if the breaker is open. Leaving it reports how the call went:

    * without an exception: a success;
    * with an `Exception`: a failure, unless the breaker's `failure` says otherwise. `Rejected`, of a breaker within, says
      nothing;
    * with another one, such as `CancelledError`, `KeyboardInterrupt` or `GeneratorExit`: the call was given up, which counts
      only if it took as long as a slow call, or for a probe as long as the cancel limit.

    Within, the methods say what no exception says. The first of them counts.
    """

    __slots__ = ("_breaker", "_limit", "_state", "_timeout", "_token", "_word")

    def __init__(self, breaker: "Breaker", timeout: Time | None) -> None:
        self._breaker = breaker
        self._timeout = timeout
        self._state = _NEW

    def __enter__(self) -> Self:
        if self._timeout is not None:
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

    async def __aenter__(self) -> Self:
        self._limit = None
        if self._timeout is not None:
            self._limit = asyncio.timeout(milliseconds("timeout", self._timeout) / 1_000)
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
        except TimeoutError as late:
            self._end(late)
            raise
        except BaseException as other:
            self._end(other)
            raise
        self._end(error)

    @property
    def is_probe(self) -> bool:
        """Whether this call decides if the breaker closes: what stays broken until it is reset should be repaired now."""
        return self.trips > 0

    @property
    def trips(self) -> int:
        """How often the breaker has opened in a row if this is a probe: how far to repair first. Otherwise 0."""
        return int(library.trips(byref(self._token))) if self._state == _HELD else 0

    def success(self) -> None:
        """The call succeeded, whatever exception follows."""
        self._report(library.report, True)

    def failure(self, weight: int = 1) -> None:
        """The call failed, without an exception: a response that says so, for example. Counts as so many failures."""
        self._report(library.report_failures, weight)

    def down(self, retry_after: Time | str | None = None) -> None:
        """The resource said that it is down: opens at once, for at least this long, but no longer than `max_retry_after`.

        retry_after: seconds, a timedelta, or the text of a header Retry-After, which may be a date. A header comes from
            outside: one that is neither says nothing, and more than a day is a day.
        """
        wait = seconds(retry_after) if isinstance(retry_after, str) else retry_after or 0
        self._report(library.report_down, milliseconds("retry_after", wait))

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
        self._word = breaker._cell.value
        if not self._word & _CLOSED:
            self._state = _PASSED
            return self
        permit = library.acquire(breaker._word, breaker._rules, library.now_ms())
        if not permit.admitted:
            self._state = _OVER
            wait = None if permit.wait_ms == library.UNTIL_RELEASED else permit.wait_ms / 1_000
            raise Rejected(breaker.name, wait)
        self._token = permit.token
        self._state = _HELD
        return self

    def _end(self, error: BaseException | None) -> None:
        if self._state == _OVER:
            return
        if error is None:
            self._report(library.report, True)
        elif isinstance(error, Rejected):
            self._report(library.ignore)
        elif not isinstance(error, Exception):
            self._report(library.cancel)
        elif self._breaker._is_failure(error):
            self._report(library.report, False)
        else:
            self._report(library.ignore)

    def _report(self, function: Any, *argument: Any) -> None:
        state, self._state = self._state, _OVER
        if state == _OVER:
            return
        if state == _NEW:
            raise RuntimeError("not begun: `with breaker.attempt() as attempt:`")
        breaker = self._breaker
        token = self._token if state == _HELD else library.Token(~self._word)
        if function(breaker._word, breaker._rules, byref(token), *argument, library.now_ms()):
            breaker._changed()

    def __del__(self) -> None:
        # Entered and never left: a generator that was dropped, for example.
        if getattr(self, "_state", _OVER) == _HELD:
            self._report(library.cancel)
