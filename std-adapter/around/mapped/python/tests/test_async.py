# SPDX-License-Identifier: MIT OR Apache-2.0
"""With asyncio, and as a decorator."""

import asyncio
import functools
import gc
import time
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from typing import Any

import pytest
from conftest import Down

from atomic_breaker import Breaker, Rejected, Rules, State

ONE = Rules(consecutive_failures=1)


async def hang() -> None:
    await asyncio.sleep(60)


def test_a_block_guards_what_it_awaits() -> None:
    async def main() -> None:
        breaker = Breaker(rules=ONE)
        with pytest.raises(Down):
            async with breaker.attempt():
                await asyncio.sleep(0)
                raise Down
        with pytest.raises(Rejected):
            async with breaker.attempt():
                pass
        # Without `async`, it does the same.
        breaker.reset()
        with pytest.raises(Down), breaker.attempt():
            await asyncio.sleep(0)
            raise Down
        assert breaker.state == State.OPEN

    asyncio.run(main())


def test_a_call_that_hangs_longer_than_its_timeout_has_failed() -> None:
    async def main() -> None:
        breaker = Breaker(rules=ONE)
        with pytest.raises(TimeoutError):
            async with breaker.attempt(timeout=0.01):
                await hang()
        assert breaker.state == State.OPEN
        breaker.reset()
        async with breaker.attempt(timeout=5):
            await asyncio.sleep(0)
        with pytest.raises(TypeError, match="async with"), breaker.attempt(timeout=1):
            pass

    asyncio.run(main())


def test_a_timeout_around_a_call_that_hangs_counts_with_slow_call() -> None:
    async def main(rules: Rules) -> State:
        breaker = Breaker(rules=rules)
        guarded = breaker(hang)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(guarded(), 0.05)
        return breaker.state

    assert asyncio.run(main(Rules(consecutive_failures=1, slow_call=0.02))) == State.OPEN
    assert asyncio.run(main(ONE)) == State.CLOSED


def test_a_task_that_is_cancelled_gives_its_probe_back() -> None:
    async def main() -> None:
        breaker = Breaker(rules=ONE)
        breaker.trip()
        breaker.probe_now()
        probe = asyncio.ensure_future(breaker(hang)())
        await asyncio.sleep(0)
        with pytest.raises(Rejected):
            async with breaker.attempt():
                pass
        probe.cancel()
        await asyncio.wait([probe])
        async with breaker.attempt() as again:
            assert again.is_probe

    asyncio.run(main())


def test_a_decorated_function_keeps_its_name_and_is_guarded() -> None:
    breaker = Breaker(rules=ONE)

    @breaker
    def query(key: str, *, limit: int = 3) -> str:
        """Asks."""
        if not key:
            raise Down
        return key * limit

    assert (query.__name__, query.__doc__, query("a", limit=2)) == ("query", "Asks.", "aa")
    with pytest.raises(Down):
        query("")
    with pytest.raises(Rejected):
        query("a")


def test_a_method_is_guarded_too() -> None:
    breaker = Breaker(rules=ONE)

    class Shop:
        def __init__(self) -> None:
            self.orders = 0

        @breaker
        def order(self) -> int:
            self.orders += 1
            return self.orders

        @staticmethod
        @breaker
        def fails() -> None:
            raise Down

    shop = Shop()
    assert (shop.order(), shop.order()) == (1, 2)
    with pytest.raises(Down):
        Shop.fails()
    with pytest.raises(Rejected):
        shop.order()


def test_what_returns_an_awaitable_is_guarded_until_that_is_over() -> None:
    """Such as `functools.partial` of a coroutine function, which is no coroutine function."""

    async def query(fails: bool) -> int:
        await asyncio.sleep(0)
        if fails:
            raise Down
        return 7

    async def main() -> None:
        breaker = Breaker(rules=ONE)
        guarded = breaker(functools.partial(query, False))
        assert await guarded() == 7
        with pytest.raises(Down):
            await breaker(lambda: query(True))()
        assert breaker.state == State.OPEN

    asyncio.run(main())


def test_generators_and_classes_are_refused_as_nothing_of_their_work_would_be_guarded() -> None:
    breaker = Breaker()

    def rows() -> Iterator[int]:
        yield 1

    async def stream() -> AsyncIterator[int]:
        yield 1

    for generator in (rows, stream):
        with pytest.raises(TypeError, match="within it"):
            breaker(generator)
    with pytest.raises(TypeError, match="methods"):
        breaker(Down)


def test_a_timeout_of_the_attempt_is_a_failure_whatever_else_is_one() -> None:
    async def main() -> None:
        async def swallows() -> None:
            try:
                await asyncio.sleep(1)
            except asyncio.CancelledError:
                pass

        async def does_not_wait() -> None:
            time.sleep(0.05)

        for block, raised in ((asyncio.sleep(1), TimeoutError), (swallows(), None), (does_not_wait(), None)):
            breaker = Breaker(rules=Rules(consecutive_failures=1), failure=KeyError)
            try:
                async with breaker.attempt(timeout=0.02):
                    await block
            except TimeoutError:
                assert raised is TimeoutError
            else:
                assert raised is None
            assert breaker.state == State.OPEN
        quick = Breaker(rules=Rules(consecutive_failures=1))
        async with quick.attempt(timeout=5):
            await asyncio.sleep(0)
        assert quick.state == State.CLOSED

    asyncio.run(main())


def test_an_object_that_only_seems_to_be_awaitable_is_returned_as_it_is() -> None:
    """Such as a proxy of `xmlrpc.client`, which has every name that it is asked for."""

    class Proxy:
        def __getattr__(self, name: str) -> str:
            return name

    proxy = Proxy()
    assert Breaker()(lambda: proxy)() is proxy


def test_a_call_with_a_timeout_that_is_dropped_with_its_loop_is_given_up() -> None:
    outer, inner = Breaker(rules=ONE), Breaker(rules=ONE)

    async def call() -> None:
        async with outer.attempt(), inner.attempt(timeout=2):
            await asyncio.get_running_loop().create_future()

    calling = call()

    async def begin() -> None:
        calling.send(None)

    asyncio.run(begin())
    calling.close()
    assert (outer.state, inner.state) == (State.CLOSED, State.CLOSED)


def test_of_calls_that_begin_at_once_one_is_a_probe() -> None:
    """Such as those of `grpc.aio`, or of `run_in_executor`: what is returned is under way."""

    async def main() -> int:
        calls = 0

        async def work() -> None:
            nonlocal calls
            calls += 1

        breaker = Breaker(rules=ONE)
        breaker.trip()
        breaker.probe_now()
        query = breaker(lambda: asyncio.ensure_future(work()))

        async def guarded() -> list[object]:
            begun = []
            for _ in range(10):
                try:
                    begun.append(query())
                except Rejected:
                    pass
            return await asyncio.gather(*begun, return_exceptions=True)

        await guarded()
        return calls

    assert asyncio.run(main()) == 1


def test_what_a_guarded_function_has_begun_is_the_call() -> None:
    """Closed or half-open; and a call within it belongs to its probe."""

    async def main(begin: Callable[[Coroutine[Any, Any, Any]], Awaitable[Any]]) -> None:
        for trips in (0, 1):
            breaker = Breaker(rules=ONE)
            if trips:
                breaker.trip()
                breaker.probe_now()

            async def within() -> int:
                await asyncio.sleep(0)
                with breaker.attempt():
                    return 5

            async def fails() -> None:
                await asyncio.sleep(0)
                raise ConnectionError

            begun = breaker(lambda: begin(within()))
            assert await begun() == 5
            assert breaker.state == State.CLOSED
            failing = breaker(lambda: begin(fails()))()
            assert breaker.state == State.CLOSED, "it has not ended"
            with breaker.attempt():
                pass
            with pytest.raises(ConnectionError):
                await failing
            assert breaker.state == State.OPEN

    for begin in (asyncio.ensure_future, asyncio.create_task, lambda it: it):
        asyncio.run(main(begin))


def test_what_was_begun_and_is_never_awaited_holds_no_probe() -> None:
    async def main() -> None:
        breaker = Breaker(rules=ONE)
        breaker.trip()
        breaker.probe_now()
        begin = breaker(lambda: asyncio.ensure_future(asyncio.sleep(0)))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            left = begin()
            with pytest.raises(Rejected):
                begin()
            del left
            gc.collect()
        assert await begin() is None
        assert breaker.state == State.CLOSED

    asyncio.run(main())
