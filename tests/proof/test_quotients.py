# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products that divide by a million are put back as quotients, at every edge, and products that are a little off are not."""

import random

from quotients import MILLION, NANOS, Quotients
from solvers import Bitwuzla
from terms import concat, evaluate, extract, less, number, variable

FACTOR, SHIFT, ODD, BOUND = 1_125_899_907, 50, 1_757_569_337, 4_295


def quotient(factor=FACTOR, offset=0):
    return extract(concat(number(0, 32), NANOS - offset) * factor, SHIFT, 14)


def multiple(odd=ODD, bound=BOUND, offset=0, by=6):
    product = (NANOS - offset) * odd
    return less(concat(extract(product, 0, by), extract(product, by, 32 - by)), number(bound, 32))


def is_put(quotients, term, offset=0):
    """Whether it is put back; at the edges of each millisecond the number is the same."""
    known = (NANOS.uge(offset),) if offset else ()
    found = quotients.look(term, known)
    for millis in range(1_000):
        for rest in {0, 1, offset - 1, offset, 999_999, random.randrange(MILLION)} - {-1}:
            values = {"millis": millis, "rest": rest}
            if found is not term and millis * MILLION + rest >= offset:
                assert evaluate(found, values) == evaluate(term, values), (millis, rest)
    return found is not term


def main():
    quotients = Quotients(Bitwuzla())
    for offset in (0, 1, 999_999):
        assert is_put(quotients, quotient(offset=offset), offset)
        assert is_put(quotients, multiple(offset=offset), offset)
    # Not where the nanoseconds may be fewer than the offset.
    assert quotients.look(quotient(offset=5), (variable("millis", 10).ult(1_000),)).op == "extract"
    for wrong in (quotient(FACTOR - 1), quotient(FACTOR + 10_000), quotient(offset=MILLION)):
        assert not is_put(quotients, wrong, MILLION)
    for wrong in (multiple(ODD + 2), multiple(bound=BOUND - 1), multiple(bound=BOUND + 1), multiple(by=5)):
        assert not is_put(quotients, wrong)
    print("quotients: 6 are put back, 8 are not")


if __name__ == "__main__":
    main()
