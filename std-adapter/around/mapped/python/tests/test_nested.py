# SPDX-License-Identifier: MIT OR Apache-2.0
"""An attempt within another one."""

import asyncio
import multiprocessing
import pathlib
import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import Context, copy_context

import pytest
from conftest import Down, fail, rejects_others

from atomic_breaker import Attempt, Breaker, Breakers, Rejected, Rules


def half_open(**rules: object) -> Breaker:
    breaker = Breaker(rules=Rules(consecutive_failures=1, open_for=60, probe_lease=60, **rules))  # type: ignore[arg-type]
    fail(breaker)
    breaker.probe_now()
    return breaker


def test_a_guarded_function_that_calls_one_closes_the_breaker() -> None:
    breaker = half_open()

    @breaker
    def query() -> str:
        return "rows"

    @breaker
    def orders() -> str:
        return query()

    assert orders() == "rows"
    assert breaker.state == "closed"


def test_coroutines_within_a_probe_are_a_part_of_it() -> None:
    breaker = half_open()

    @breaker
    async def query() -> int:
        await asyncio.sleep(0)
        return 1

    async def main() -> int:
        async with breaker.attempt():
            return sum(await asyncio.gather(query(), query(), query()))

    assert asyncio.run(main()) == 3
    assert breaker.state == "closed"


def test_a_failure_within_a_probe_is_that_of_the_probe_even_if_it_is_caught() -> None:
    breaker = half_open()
    with breaker.attempt():
        fail(breaker)
    assert breaker.state == "open" and breaker.snapshot().trips == 2


def test_what_a_server_asks_for_within_a_probe_is_granted() -> None:
    breaker = half_open()
    with breaker.attempt(), breaker.attempt() as inner:
        inner.down("90")
    assert 89 < (breaker.snapshot().retry_in or 0) <= 90
    breaker = half_open()
    with breaker.attempt(), breaker.attempt() as inner:
        inner.failure(retry_after="90")
    assert 89 < (breaker.snapshot().retry_in or 0) <= 90


@pytest.mark.parametrize("say", [Attempt.success, Attempt.ignore, Attempt.cancel])
def test_otherwise_the_outer_attempt_says_how_the_call_went(say: object) -> None:
    breaker = half_open()
    with pytest.raises(Down), breaker.attempt():
        with breaker.attempt() as inner:
            say(inner)  # type: ignore[operator]
        assert breaker.state == "half-open"
        raise Down
    assert breaker.state == "open"


def test_others_are_still_rejected_and_so_is_what_comes_after_the_probe() -> None:
    breaker, other = half_open(), half_open()
    with other.attempt(), breaker.attempt():
        assert rejects_others(breaker) and rejects_others(other)
        with breaker.attempt(), other.attempt():
            assert rejects_others(breaker) and rejects_others(other)
        # Somebody opens it meanwhile.
        breaker.trip()
        with pytest.raises(Rejected), breaker.attempt():
            pass
    assert breaker.state == "open" and other.state == "closed"


def test_what_an_operator_holds_open_lets_nothing_pass_within_a_probe() -> None:
    breaker = half_open()
    with breaker.attempt():
        breaker.force_open()
        with pytest.raises(Rejected), breaker.attempt():
            pass
    assert breaker.state == "forced open"


def test_an_attempt_that_is_no_probe_or_one_of_another_breaker_lets_nobody_pass() -> None:
    busy, other = half_open(), half_open()
    measured = Breaker(rules=Rules(consecutive_failures=1, slow_call=60))

    def call() -> None:
        with other.attempt(), pytest.raises(Rejected), busy.attempt():
            pass

    with busy.attempt():
        Context().run(call)

    # Its caller came before it opened.
    with measured.attempt():
        measured.trip()
        measured.probe_now()
        probe = Context().run(holding, measured)
        with pytest.raises(Rejected), measured.attempt():
            pass
        probe.__exit__(None, None, None)


def holding(breaker: Breaker) -> Attempt:
    return breaker.attempt().__enter__()


def test_a_task_that_outlives_the_probe_it_began_in_is_a_caller_of_its_own() -> None:
    breaker = half_open()

    async def main() -> None:
        over, begun = asyncio.Event(), asyncio.Event()

        async def later() -> bool:
            begun.set()
            await over.wait()
            try:
                async with breaker.attempt():
                    return False
            except Rejected:
                return True

        async with breaker.attempt() as probe:
            task = asyncio.create_task(later())
            await begun.wait()
            probe.ignore()
        async with breaker.attempt():
            over.set()
            assert await task

    asyncio.run(main())
    assert breaker.state == "closed"


def test_a_probe_that_is_dropped_inside_a_generator_is_given_back_at_once() -> None:
    breaker = half_open()

    def rows() -> object:
        with breaker.attempt():
            yield 1

    generator = rows()
    next(generator)  # type: ignore[call-overload]
    del generator
    assert breaker.state == "half-open"
    with breaker.attempt():
        pass
    assert breaker.state == "closed"


def test_each_counts_while_it_is_closed() -> None:
    breaker = Breaker(rules=Rules(consecutive_failures=4))
    for _ in range(2):
        with pytest.raises(Down), breaker.attempt(), breaker.attempt():
            raise Down
    assert breaker.state == "open"


def test_a_healthy_resource_is_served_again_however_deep_calls_are_nested() -> None:
    for depth in range(1, 6):
        breaker = Breaker(rules=Rules(consecutive_failures=1, open_for=0.02))
        fail(breaker)
        began = time.monotonic()

        def call(left: int, breaker: Breaker = breaker) -> None:
            with breaker.attempt():
                if left:
                    call(left - 1)

        while breaker.state != "closed":
            assert time.monotonic() - began < 2
            try:
                call(depth)
            except Rejected as rejected:
                time.sleep(rejected.retry_in or 0.001)


def served_again(breaker: Breaker, call: Callable[[], object]) -> bool:
    """Whether it closes within a few probes of a resource that is well."""
    for _ in range(5):
        if breaker.state == "open":
            breaker.probe_now()
        try:
            call()
        except Rejected:
            pass
        if breaker.state == "closed":
            return True
    return False


def test_two_objects_for_one_file_are_the_same_breaker(folder: pathlib.Path) -> None:
    one, other = Breaker(folder / "database"), Breaker(f"{folder}/./database")
    hosts, others = Breakers(folder / "hosts"), Breakers(folder / "hosts")
    for outer, inner in ((one, other), (hosts["a"], others["a"])):
        outer.trip()
        outer.probe_now()
        with outer.attempt(), inner.attempt():
            pass
        assert inner.state == "closed"
    hosts["a"].trip()
    hosts["a"].probe_now()
    others["b"].trip()
    others["b"].probe_now()
    probe = Context().run(holding, others["b"])
    with hosts["a"].attempt(), pytest.raises(Rejected), hosts["b"].attempt():
        pass
    probe.cancel()


def test_a_call_in_a_thread_of_a_pool_does_not_keep_the_breaker_open(caplog: pytest.LogCaptureFixture) -> None:
    breaker = half_open()

    def query() -> int:
        with breaker.attempt():
            return 1

    with ThreadPoolExecutor(2) as pool:

        def orders() -> int:
            with breaker.attempt():
                return pool.submit(query).result()

        assert served_again(breaker, orders)
        assert "guard each call once" in caplog.text


def test_a_dependency_that_is_entered_elsewhere_does_not_keep_the_breaker_open() -> None:
    # FastAPI runs a dependency that is no coroutine in a context of its own.
    breaker = half_open()

    @contextmanager
    def session() -> Iterator[None]:
        with breaker.attempt():
            yield

    def request() -> None:
        dependency = session()
        copy_context().run(dependency.__enter__)
        try:
            with breaker.attempt():
                pass
        except Rejected as rejected:
            copy_context().run(dependency.__exit__, Rejected, rejected, None)
            raise
        copy_context().run(dependency.__exit__, None, None, None)

    assert served_again(breaker, request)


def test_what_another_breaker_rejects_does_not_make_a_probe_let_others_pass() -> None:
    breaker, other = half_open(), half_open()
    other.trip()
    for _ in range(3):
        with pytest.raises(Rejected), breaker.attempt(), other.attempt():
            pass
    other.probe_now()
    with breaker.attempt(), other.attempt():
        assert rejects_others(breaker) and rejects_others(other)


def within_a_process_of_a_pool(path: pathlib.Path) -> str:
    with Breaker(path, SHARED).attempt():
        return "rows"


SHARED = Rules(consecutive_failures=1, open_for=60, probe_lease=60)


def test_a_probe_around_a_process_pool_that_can_never_succeed_is_logged_once(
    folder: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = folder / "database"
    breaker = Breaker(path, SHARED)
    fail(breaker)
    breaker.probe_now()
    caplog.clear()
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        for _ in range(3):
            with pytest.raises(Rejected), breaker.attempt() as attempt:
                assert attempt.is_probe
                pool.submit(within_a_process_of_a_pool, path).result()
    told = [record.getMessage() for record in caplog.records if "in another process" in record.getMessage()]
    assert len(told) == 1 and str(path) in told[0]
    assert breaker.state == "half-open"


def test_a_rejection_goes_to_another_process_as_it_is() -> None:
    breaker = Breaker()
    breaker.trip(7)
    with pytest.raises(Rejected) as raised, breaker.attempt():
        pass
    copy = pickle.loads(pickle.dumps(raised.value))
    assert str(copy) == str(raised.value) and copy.retry_after == raised.value.retry_after


def test_a_call_of_another_breaker_that_is_over_does_not_hide_the_probe_around_it() -> None:
    breaker, other = half_open(), half_open()
    measured = Breaker(rules=Rules(slow_call=60))
    with breaker.attempt():
        for between in (measured, other):
            with between.attempt():
                pass
            with breaker.attempt():
                pass
        fail(measured)
        with breaker.attempt():
            pass
    assert breaker.state == other.state == "closed"


class Unavailable(Exception):
    """What a web framework makes an answer of."""


def as_it_is(error: Rejected) -> Exception:
    return error


def in_a_group(error: Rejected) -> Exception:
    return ExceptionGroup("of a TaskGroup", [error])


def as_an_answer(error: Rejected) -> Exception:
    raise Unavailable from error


@pytest.mark.parametrize("wrapped", [as_it_is, in_a_group, as_an_answer])
def test_a_rejection_by_the_own_probe_is_known_however_it_comes_out(wrapped: Callable[[Rejected], Exception]) -> None:
    breaker = half_open()
    with ThreadPoolExecutor(1) as pool:

        def orders() -> None:
            with breaker.attempt():
                try:
                    pool.submit(breaker(lambda: 1)).result()
                except Rejected as rejected:
                    raise wrapped(rejected)

        def request() -> None:
            try:
                orders()
            except* (Rejected, Unavailable):
                pass

        assert served_again(breaker, request)


def test_a_failure_beside_a_rejection_by_the_own_probe_or_after_one_of_before_counts() -> None:
    breaker = half_open()

    def rejected() -> Rejected:
        with pytest.raises(Rejected) as raised:
            Context().run(holding, breaker)
        return raised.value

    with pytest.raises(ExceptionGroup), breaker.attempt():
        raise ExceptionGroup("", [rejected(), Down()])
    assert breaker.state == "open" and breaker.snapshot().trips == 2
    try:
        with breaker.attempt():
            pass
    except Rejected:
        # As a loop does that tries again.
        breaker.probe_now()
        fail(breaker)
    assert breaker.state == "open" and breaker.snapshot().trips == 3
