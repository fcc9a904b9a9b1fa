# SPDX-License-Identifier: MIT OR Apache-2.0
"""A file of breakers that is open."""

import itertools
import os
from typing import Any

from . import _library as library
from ._errors import SettingsError
from ._rules import Rules

StrPath = str | os.PathLike[str]

_numbers = itertools.count()


class _Last:
    """Closes a map when it goes."""

    __slots__ = ("map",)

    def __init__(self, map: Any) -> None:
        self.map = map

    def __del__(self, close: Any = library.map_close) -> None:
        close(self.map)


class File:
    """A file that is open, or memory without one. Closed when nobody uses it any more."""

    def __init__(self, path: StrPath | None, rules: Rules, options: library.Options) -> None:
        if not isinstance(rules, Rules):
            raise TypeError(f"rules: Rules(...), not {rules!r}")
        # Where it was, whatever folder this process, or one that gets a copy, goes to afterwards.
        self.path = None if path is None else _absolute(path)
        where = None if self.path is None else os.fsencode(self.path)
        self.map = library.checked(library.map_open, where, rules._settings(), options)
        self.rules = library.map_rules(self.map)
        self.identity = self._identity()
        self.measures = rules.slow_call is not None
        self._was_removed = False

    def _identity(self) -> object:
        """The same for all that have this file open in this process: for as long, nothing else has its number."""
        if self.path is not None:
            try:
                found = os.stat(self.path)
                return found.st_dev, found.st_ino
            except OSError:
                # Somebody has removed it.
                pass
        return next(_numbers)

    def is_newly_removed(self) -> bool:
        """Whether it was removed while it is in use here. True once."""
        before = self._was_removed
        self._was_removed = before or library.map_is_removed(self.map)
        return self._was_removed and not before

    def breaker(self, key: bytes | None) -> Any:
        return library.checked(library.map_breaker, self.map, key)

    def __del__(self, last: Any = _Last) -> None:
        # Not closed yet: if it is collected as a part of a cycle, calls that end with it report to it afterwards. What is made
        # here is not among what is collected, and goes when this object is taken apart, after all of them have ended.
        if getattr(self, "map", None):
            self._last = last(self.map)


def _absolute(path: StrPath) -> str:
    text = os.fsdecode(path)
    if not text or "\0" in text:
        raise SettingsError(f"path: {text!r} is no path; without one: Breaker()")
    # Not shortened: `..` behind a link leads elsewhere.
    return text if os.path.isabs(text) else os.path.join(os.getcwd(), text)
