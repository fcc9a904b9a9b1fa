# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a guarded call counts as."""

import asyncio
import gc
import time
from collections.abc import Iterator

import pytest
from conftest import Down, fail, rejects_others

from atomic_breaker import Breaker, Breakers, Rejected, Rules, State


def opened(**rules: object) -> Breaker:
    breaker = Breaker(rules=Rules(**rules))  # type: ignore[arg-type]
    breaker.trip()
    return breaker


def half_open(**rules: object) -> Breaker:
    breaker = opened(**rules)
    breaker.probe_now()
    return breaker


def test_a_state_is_its_name_for_displays_and_comparisons() -> None:
    breaker = Breaker()
    assert f"{breaker.state}" == breaker.state == "closed"
    breaker.disable()
    assert breaker.state == "disabled"
    breaker.force_open()
    assert breaker.state == "forced open" and f"{breaker!r}" == "<Breaker breaker: forced open>"
    breaker.release()
    breaker.reset()
    breaker.trip()
    assert breaker.state == "open"
    breaker.probe_now()
    assert breaker.state == "half-open"
    returning = Breaker(rules=Rules(consecutive_failures=1, gradual_return=(1, 60)))
    fail(returning)
    returning.probe_now()
    with returning.attempt():
        pass
    assert returning.state == "returning"


def test_a_program_that_looks_before_it_calls_is_served_again() -> None:
    breaker = opened(open_for=0.05)
    served = fallbacks = 0
    for _ in range(2_000):
        if breaker.state == "open":
            fallbacks += 1
            time.sleep(0.005)
            continue
        with breaker.attempt():
            served += 1
        if served == 3:
            break
    assert served == 3 and 0 < fallbacks < 1_000 and breaker.state == "closed"


def test_failures_in_a_row_open_and_a_success_between_them_starts_again() -> None:
    breaker = Breaker()
    fail(breaker, 4)
    with breaker.attempt():
        pass
    fail(breaker, 4)
    assert breaker.state == State.CLOSED and breaker.snapshot().failures == 4
    fail(breaker)
    assert breaker.state == State.OPEN


def test_a_rejection_says_when_to_come_back_and_the_call_is_not_made() -> None:
    breaker = opened(open_for=60)
    with pytest.raises(Rejected) as raised, breaker.attempt():
        pytest.fail("it was called")
    assert raised.value.retry_in is not None and 59 < raised.value.retry_in <= 60
    assert str(raised.value).startswith("breaker: rejected, retry in ")
    breaker.force_open()
    with pytest.raises(Rejected) as raised, breaker.attempt():
        pass
    assert raised.value.retry_in is None and "by an operator" in str(raised.value)


def test_a_probe_that_succeeds_closes_and_one_that_fails_opens() -> None:
    breaker = half_open()
    with breaker.attempt() as probe:
        assert probe.is_probe and probe.trips == 1
        assert rejects_others(breaker)
    assert breaker.state == State.CLOSED
    breaker = half_open()
    fail(breaker)
    assert breaker.state == State.OPEN and breaker.snapshot().trips == 2


def test_after_a_release_one_call_at_a_time_is_a_probe() -> None:
    breaker = Breaker()
    breaker.force_open()
    breaker.release()
    assert breaker.state == State.HALF_OPEN and breaker.snapshot().trips == 0
    with breaker.attempt() as probe:
        assert probe.is_probe
        assert rejects_others(breaker)
    assert breaker.state == State.CLOSED


@pytest.mark.parametrize("given_up", [KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit])
def test_what_is_no_exception_gives_the_call_up(given_up: type[BaseException]) -> None:
    breaker = Breaker(rules=Rules(consecutive_failures=1))
    with pytest.raises(given_up), breaker.attempt():
        raise given_up
    assert breaker.state == State.CLOSED
    breaker = half_open()
    with pytest.raises(given_up), breaker.attempt():
        raise given_up
    assert breaker.state == State.HALF_OPEN, "its place is free at once"
    with breaker.attempt():
        pass
    assert breaker.state == State.CLOSED


def test_an_exception_that_is_no_failure_is_an_answer_and_a_success() -> None:
    """A service that looks up what is mostly not there: 404 is its usual answer."""
    breaker = Breaker(rules=Rules(probes=1), failure=Down)
    fail(breaker, 4)
    with pytest.raises(ValueError), breaker.attempt():
        raise ValueError
    fail(breaker, 4)
    assert breaker.state == State.CLOSED, "never five in a row"
    breaker.trip()
    breaker.probe_now()
    with pytest.raises(ValueError), breaker.attempt():
        raise ValueError
    assert breaker.state == State.CLOSED


def test_a_name_from_outside_is_one_line_of_a_log(caplog: pytest.LogCaptureFixture) -> None:
    forged = "a\nWARNING:root:all is well\x1b[2J\u2028"
    host = Breakers()[forged]
    host.trip()
    with pytest.raises(Rejected) as rejected, host.attempt():
        pass
    for text in (str(rejected.value), repr(host), *(record.getMessage() for record in caplog.records)):
        assert text.isprintable() and "a\\nWARNING" in text
    assert host.name == rejected.value.name == forged


def test_a_path_that_is_none_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    Breaker(), Breakers()
    assert not caplog.records
    Breaker(None), Breakers(None)
    assert [record.levelname for record in caplog.records] == ["WARNING"] * 2 and "path is None" in caplog.text


def test_only_what_failure_names_counts() -> None:
    breaker = Breaker(rules=Rules(consecutive_failures=1), failure=lambda error: not isinstance(error, ValueError))
    with pytest.raises(ValueError), breaker.attempt():
        raise ValueError
    assert breaker.state == State.CLOSED
    fail(breaker)
    assert breaker.state == State.OPEN


def test_a_rejection_of_a_breaker_within_is_no_failure_of_this_one() -> None:
    outer, inner = Breaker(rules=Rules(consecutive_failures=1)), opened()
    with pytest.raises(Rejected), outer.attempt(), inner.attempt():
        pass
    assert outer.state == State.CLOSED


def test_the_first_of_the_methods_counts() -> None:
    breaker = Breaker()
    with breaker.attempt() as attempt:
        attempt.failure(weight=4)
        attempt.failure()
        attempt.success()
    assert breaker.snapshot().failures == 4
    with pytest.raises(Down), breaker.attempt() as attempt:
        attempt.ignore()
        raise Down
    assert breaker.snapshot().failures == 4
    with pytest.raises(Down), breaker.attempt() as attempt:
        attempt.success()
        raise Down
    assert breaker.snapshot().failures == 0
    with breaker.attempt() as attempt:
        attempt.down(retry_after=30)
    wait = breaker.snapshot().retry_in
    assert breaker.state == State.OPEN and wait is not None and 29 < wait <= 30


def test_a_failure_of_before_a_trip_is_stale() -> None:
    breaker = Breaker()
    late, later = breaker.attempt(), breaker.attempt()
    with pytest.raises(Down), late:
        breaker.trip()
        breaker.reset()
        raise Down
    assert breaker.snapshot().failures == 0
    with later:
        fail(breaker, 2)
    assert breaker.snapshot().failures == 0, "a success sets the count back, whenever it began"


def test_an_attempt_is_one_call() -> None:
    breaker = Breaker()
    attempt = breaker.attempt()
    with pytest.raises(RuntimeError, match="not begun"):
        attempt.failure()
    attempt = breaker.attempt()
    with attempt:
        pass
    with pytest.raises(RuntimeError, match="another one"), attempt:
        pass


def test_a_generator_that_is_dropped_gives_its_probe_back() -> None:
    breaker = half_open()

    def rows() -> Iterator[int]:
        with breaker.attempt():
            yield 1
            yield 2

    reading = rows()
    assert next(reading) == 1 and rejects_others(breaker)
    del reading
    gc.collect()
    with breaker.attempt():
        pass
    assert breaker.state == State.CLOSED


def test_an_attempt_that_is_entered_by_hand_and_dropped_gives_its_probe_back() -> None:
    breaker = half_open()
    attempt = breaker.attempt()
    attempt.__enter__()
    del attempt
    with breaker.attempt() as probe:
        assert probe.is_probe


def test_a_probe_that_hangs_and_is_cancelled_late_has_failed() -> None:
    breaker = half_open(cancel_limit=0.02)
    with pytest.raises(KeyboardInterrupt), breaker.attempt():
        time.sleep(0.05)
        raise KeyboardInterrupt
    assert breaker.state == State.OPEN


def test_a_slow_call_is_a_failure_even_if_it_succeeded() -> None:
    breaker = Breaker(rules=Rules(consecutive_failures=1, slow_call=0.02))
    with breaker.attempt():
        pass
    assert breaker.state == State.CLOSED
    with breaker.attempt():
        time.sleep(0.05)
    assert breaker.state == State.OPEN


def test_a_probe_that_is_renewed_after_its_repair_is_not_slow() -> None:
    for is_renewed, state in ((False, State.OPEN), (True, State.CLOSED)):
        breaker = half_open(slow_call=0.5)
        with breaker.attempt() as probe:
            time.sleep(0.6)
            assert not is_renewed or probe.renew()
        assert breaker.state == state
        assert not probe.renew()


def test_a_report_that_is_too_late_is_not_renewed() -> None:
    breaker = half_open()
    with breaker.attempt() as probe:
        breaker.trip()
        assert not probe.renew()
    with Breaker().attempt() as call:
        assert call.renew()
        call.success()
        assert not call.renew()


def test_one_that_is_disabled_lets_all_pass_and_learns_nothing() -> None:
    breaker = Breaker()
    breaker.disable()
    fail(breaker, 20)
    assert breaker.state == State.DISABLED
    breaker.enable()
    assert breaker.snapshot().failures == 0


def test_failures_may_be_named_by_their_classes() -> None:
    for failure in (Down, (Down, KeyError), lambda error: isinstance(error, Down)):
        breaker = Breaker(rules=Rules(consecutive_failures=1), failure=failure)
        with pytest.raises(ValueError), breaker.attempt():
            raise ValueError
        assert breaker.state == "closed"
        fail(breaker)
        assert breaker.state == "open"


def test_a_judge_that_raises_hides_no_error_and_counts(caplog: pytest.LogCaptureFixture) -> None:
    breaker = Breaker(rules=Rules(consecutive_failures=1), failure=lambda error: error.status == 500)  # type: ignore[attr-defined]
    fail(breaker)
    assert breaker.state == "open" and "could not judge Down" in caplog.text


def test_a_group_of_exceptions_is_a_failure_if_one_of_them_is() -> None:
    breaker = Breaker(rules=Rules(consecutive_failures=1), failure=Down)
    harmless: list[Exception] = [Rejected("other", 1), ValueError()]
    for group in (ExceptionGroup("", harmless), ExceptionGroup("", [ExceptionGroup("", harmless)])):
        with pytest.raises(ExceptionGroup), breaker.attempt():
            raise group
    assert breaker.state == "closed"
    with pytest.raises(ExceptionGroup), breaker.attempt():
        raise ExceptionGroup("", [*harmless, ExceptionGroup("", [Down()])])
    assert breaker.state == "open"


def test_an_attempt_that_is_never_entered_warns() -> None:
    breaker = Breaker()
    with pytest.warns(RuntimeWarning, match="guards nothing"):
        breaker.attempt()
    with pytest.warns(RuntimeWarning), pytest.raises(TypeError, match="is no answer"):
        if breaker.attempt():  # type: ignore[truthy-bool]
            pass


def test_what_is_said_after_the_block_is_an_error() -> None:
    breaker = Breaker()
    with breaker.attempt() as passed:
        pass
    breaker.trip()
    breaker.probe_now()
    with breaker.attempt() as probe:
        probe.failure()
        probe.success()
    for attempt in (passed, probe):
        with pytest.raises(RuntimeError, match="within the block"):
            attempt.failure()


def test_methods_of_all_kinds_are_guarded() -> None:
    breaker = Breaker(rules=Rules(consecutive_failures=3))

    class Client:
        @breaker
        def method(self) -> None:
            raise Down

        @breaker
        @classmethod
        def of_the_class(cls) -> None:
            assert cls is Client
            raise Down

        @breaker
        @staticmethod
        def of_nobody() -> None:
            raise Down

    client = Client()
    for method in (client.method, client.of_the_class, client.of_nobody):
        with pytest.raises(Down):
            method()
    with pytest.raises(Rejected):
        Client.of_nobody()
    with pytest.raises(TypeError, match="guards a function"):
        breaker(3)  # type: ignore[arg-type]


def test_what_a_header_says_of_a_rejection() -> None:
    assert [Rejected("", wait).retry_after for wait in (None, 0, 0.2, 1, 1.2)] == [60, 1, 1, 1, 2]
