#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a guarded call of a function that does nothing costs in Python, beside pybreaker and circuitbreaker: closed and
successful, failing (with a limit that is never reached), and rejected. Interleaved, the best of many rounds; the cost of
the call itself, and of the exception, is taken off.

    tests/hosts/run cost
"""

import platform
import time
from importlib.metadata import version

import circuitbreaker
import pybreaker
from atomic_breaker import Breaker, Rejected, Rules

ROUNDS, CALLS = 60, 2_000
NEVER = 60_000


class Down(Exception):
    """It fails."""


def fine():
    return 1


def fails():
    raise Down


def ours():
    rules = Rules(consecutive_failures=NEVER)
    closed, failing, opened = Breaker(rules=rules), Breaker(rules=rules), Breaker()
    opened.trip(at_least=10_000)

    def block(breaker, function):
        def call():
            with breaker.attempt():
                return function()

        return call

    yield "with attempt()", block(closed, fine), block(failing, fails), block(opened, fine)
    yield "@breaker", closed(fine), failing(fails), opened(fine)


def theirs():
    closed, failing, opened = (pybreaker.CircuitBreaker(fail_max=NEVER, reset_timeout=10_000) for _ in range(3))
    opened.open()
    yield "pybreaker", closed(fine), failing(fails), opened(fine)
    closed, failing = (circuitbreaker.CircuitBreaker(failure_threshold=NEVER) for _ in range(2))
    opened = circuitbreaker.CircuitBreaker(failure_threshold=1, recovery_timeout=10_000)
    functions = closed(fine), failing(fails), opened(fails)
    try:
        functions[2]()
    except Down:
        pass
    yield "circuitbreaker", *functions


REFUSED = (Down, Rejected, pybreaker.CircuitBreakerError, circuitbreaker.CircuitBreakerError)


def nanoseconds(call):
    begun = time.perf_counter_ns()
    for _ in range(CALLS):
        try:
            call()
        except REFUSED:
            pass
    return (time.perf_counter_ns() - begun) / CALLS


def main():
    rows = [("nothing", fine, fails, fine), *ours(), *theirs()]
    best = {}
    for _ in range(ROUNDS):
        for name, *calls in rows:
            for number, call in enumerate(calls):
                key = name, number
                best[key] = min(best.get(key, float("inf")), nanoseconds(call))
    print(f"Python {platform.python_version()}, pybreaker {version('pybreaker')}, circuitbreaker {version('circuitbreaker')}")
    print(f"{'ns a call':16} {'closed':>8} {'failing':>8} {'rejected':>8}")
    for name, *_ in rows[1:]:
        print(f"{name:16}", *(f"{best[name, it] - best['nothing', it]:8.0f}" for it in range(3)))


if __name__ == "__main__":
    main()
