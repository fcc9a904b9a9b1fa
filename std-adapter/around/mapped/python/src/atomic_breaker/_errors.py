# SPDX-License-Identifier: MIT OR Apache-2.0
"""Why a call was not made, and why a breaker could not be set up."""

import math
from typing import Any


def printable(name: str) -> str:
    """A name on one line of a log: a key may come from outside."""
    return "".join(it if it.isprintable() else it.encode("unicode_escape", "backslashreplace").decode() for it in name)


class Rejected(Exception):
    """The breaker is open: the call was not made.

    Not a failure of the call, so a breaker around this one does not count it.
    """

    retry_in: float | None
    """When it is worth asking again, in seconds; None if an operator holds the breaker open."""
    name: str
    """The breaker's name: that of its key, or the last part of its path."""

    def __init__(self, name: str, retry_in: float | None, _probes: Any = None) -> None:
        super().__init__(name, retry_in)
        self.name, self.retry_in = name, retry_in
        # Of the breaker, in this process; and the attempt that was admitted last.
        self._probes = _probes
        self._during = None if _probes is None else _probes.latest

    def __reduce__(self) -> Any:
        return Rejected, (self.name, self.retry_in)

    @property
    def retry_after(self) -> int:
        """The same for a header Retry-After: whole seconds, at least 1; 60 if an operator holds the breaker open."""
        return 60 if self.retry_in is None else max(1, math.ceil(self.retry_in))

    def __str__(self) -> str:
        name = printable(self.name)
        if self.retry_in is None:
            return f"{name}: rejected, held open by an operator"
        return f"{name}: rejected, retry in {self.retry_in:g} s"


class SetupError(Exception):
    """A breaker could not be set up: it guards nothing. The text names the file, and says what to do."""


class SettingsError(SetupError, ValueError):
    """A rule or an argument does not fit."""


class Disagreement(SetupError):
    """The file was made with other rules, keys, another clock or version: see `replace_unused`."""


class Busy(SetupError):
    """Another process has kept the file locked for 2 s. Trying again later may succeed."""


class NotTrusted(SetupError):
    """Others may reach the file: a link, another owner or mode, a file system that machines share."""


class Foreign(SetupError):
    """It is not a file of breakers, or it was made shorter or longer."""


class SystemRefused(SetupError, OSError):
    """The system refused."""


class NoRoom(SetupError):
    """There is no place for this key: all are taken by other names (open the file with more `keys`, everywhere), it is longer
    than `key_bytes`, or it is no text."""


BY_STATUS: dict[int, type[SetupError]] = {
    1: SettingsError,
    2: Disagreement,
    3: Busy,
    4: NotTrusted,
    5: Foreign,
    6: SystemRefused,
    7: NoRoom,
}
