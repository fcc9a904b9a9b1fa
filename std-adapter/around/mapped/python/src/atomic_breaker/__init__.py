# SPDX-License-Identifier: MIT OR Apache-2.0
"""A circuit breaker that all processes of a machine share.

    from atomic_breaker import Breaker, Rejected

    database = Breaker("/dev/shm/shop-database")

    try:
        with database.attempt():
            rows = query()
    except Rejected as rejected:
        ...  # at once, without a call; rejected.retry_in seconds

After five failures in a row, counted over all workers, calls are rejected for five seconds; then one of the workers makes
one call, and if it succeeds, all go on.

Threads, asyncio, forked workers, and programs in Rust or C may share a breaker. No lock is taken and no call waits.
"""

from ._attempt import Attempt
from ._breaker import Breaker, Snapshot
from ._breakers import Breakers
from ._errors import (
    Busy,
    Disagreement,
    Foreign,
    NoRoom,
    NotTrusted,
    Rejected,
    SettingsError,
    SetupError,
    SystemRefused,
)
from ._library import Origin, State
from ._rules import Rules

__all__ = [
    "Attempt",
    "Breaker",
    "Breakers",
    "Busy",
    "Disagreement",
    "Foreign",
    "NoRoom",
    "NotTrusted",
    "Origin",
    "Rejected",
    "Rules",
    "SettingsError",
    "SetupError",
    "Snapshot",
    "State",
    "SystemRefused",
]
