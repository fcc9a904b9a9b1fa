# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which failures open it, for how long, and when its trips are forgotten; a file that goes."""

import time
from datetime import timedelta
from pathlib import Path

import pytest
from conftest import fail

from atomic_breaker import Breaker, Breakers, Rules, SettingsError, State


def test_a_pause_that_is_asked_for_counts_as_one_failure() -> None:
    breaker = Breaker()
    for _ in range(4):
        with breaker.attempt() as attempt:
            attempt.failure(retry_after=30)
    assert breaker.state == State.CLOSED and breaker.snapshot().failures == 4
    with breaker.attempt() as attempt:
        attempt.failure(retry_after="30")
    wait = breaker.snapshot().retry_in
    assert breaker.state == State.OPEN and wait is not None and 29 < wait <= 30
    breaker.probe_now()
    with breaker.attempt() as probe:
        probe.failure(retry_after=timedelta(seconds=60))
    wait = breaker.snapshot().retry_in
    assert wait is not None and 59 < wait <= 60
    breaker.reset()
    with breaker.attempt() as attempt, pytest.raises(SettingsError, match="weight, retry_after: one of them"):
        attempt.failure(2, retry_after=30)
    for nothing in (0, "", "soon"):
        with breaker.attempt() as attempt:
            attempt.failure(retry_after=nothing)
    assert breaker.snapshot().failures == 3


def test_a_row_opens_once_it_has_lasted() -> None:
    breaker = Breaker(rules=Rules(consecutive_failures=2, lasting=0.05))
    fail(breaker, 20)
    assert breaker.state == State.CLOSED and breaker.snapshot().failures == 2
    time.sleep(0.06)
    fail(breaker)
    assert breaker.state == State.OPEN


def test_trips_are_remembered_where_the_open_time_grows() -> None:
    told: list[State] = []
    rules = Rules(consecutive_failures=1, open_for=0.05, exponential=(2, 60))
    breaker = Breaker(rules=rules, on_change=lambda _, state: told.append(state))
    fail(breaker)
    for _ in range(3):
        breaker.probe_now()
        with breaker.attempt():
            pass
        seen = breaker.snapshot()
        assert seen.state == State.RETURNING and seen.retry_in == 0
        fail(breaker)
    assert breaker.snapshot().trips == 4
    breaker.probe_now()
    with breaker.attempt():
        pass
    time.sleep(0.45)
    with breaker.attempt():
        pass
    assert breaker.state == State.CLOSED and breaker.snapshot().trips == 0
    assert told == [State.OPEN, State.HALF_OPEN, State.RETURNING] * 4 + [State.CLOSED]


def test_a_file_that_is_removed_under_it_is_logged_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "database"
    breaker, others = Breaker(path), Breakers(tmp_path / "hosts")
    breaker.trip()
    assert not caplog.records[1:]
    path.unlink()
    for _ in range(2):
        breaker.reset()
        breaker.trip()
    (told,) = (record for record in caplog.records if "was removed" in record.message)
    assert told.levelname == "WARNING" and told.message.startswith(f"{path} was removed while it is in use")
    (tmp_path / "hosts").unlink()
    others["a"].trip()
    others["b"].trip()
    assert sum("hosts was removed" in record.message for record in caplog.records) == 1
