# SPDX-License-Identifier: MIT OR Apache-2.0
"""A folder in memory, and calls that fail."""

import pathlib
import tempfile
from collections.abc import Iterator
from contextvars import Context

import pytest

from atomic_breaker import Breaker, Rejected


@pytest.fixture
def folder() -> Iterator[pathlib.Path]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield pathlib.Path(name)


class Down(Exception):
    """The resource does not answer."""


def fail(breaker: Breaker, times: int = 1) -> None:
    for _ in range(times):
        with pytest.raises(Down), breaker.attempt():
            raise Down


def rejects_others(breaker: Breaker) -> bool:
    """Whether a caller that has nothing to do with this one is rejected."""

    def call() -> None:
        with breaker.attempt():
            pass

    try:
        Context().run(call)
    except Rejected:
        return True
    return False
