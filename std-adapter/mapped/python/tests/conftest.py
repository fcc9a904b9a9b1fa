# SPDX-License-Identifier: MIT OR Apache-2.0
"""A folder in memory, and calls that fail."""

import pathlib
import tempfile
from collections.abc import Iterator

import pytest

from atomic_breaker import Breaker


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
