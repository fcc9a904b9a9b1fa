# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a server asks for in Retry-After."""

import random
import time
from datetime import datetime, timedelta, timezone
from email.utils import format_datetime, formatdate

import pytest

from atomic_breaker import Breaker, Rules, SettingsError

RULES = Rules(open_for=1, max_retry_after=300)


def opens_for(retry_after: float | timedelta | str | None) -> float:
    breaker = Breaker(rules=RULES)
    with breaker.attempt() as attempt:
        attempt.down(retry_after)
    assert breaker.state == "open"
    wait = breaker.snapshot().retry_in
    assert wait is not None
    return wait


@pytest.mark.parametrize(("text", "wait"), [("7", 7), (" 120 ", 120), ("0", 1), ("00030", 30), ("86400", 300), ("9" * 64, 300)])
def test_seconds(text: str, wait: float) -> None:
    assert opens_for(text) == pytest.approx(wait, abs=0.1)


@pytest.mark.parametrize("ahead", [20, 200])
def test_a_date_in_each_of_its_forms(ahead: float) -> None:
    then = time.time() + ahead
    obsolete = datetime.fromtimestamp(then, timezone.utc).strftime("%A, %d-%b-%y %H:%M:%S GMT")
    elsewhere = format_datetime(datetime.fromtimestamp(then, timezone(timedelta(hours=-7))))
    for text in [formatdate(then, usegmt=True), formatdate(then), obsolete, elsewhere]:
        assert opens_for(text) == pytest.approx(ahead, abs=1.1), text


@pytest.mark.parametrize(
    "text",
    ["", "soon", "-5", "1.5", "1e9", "inf", "nan", "٣", "²", "7" * 65, "\0", "Wed, 21 Oct 2015 07:28:00 GMT"]
    + ["Wed, 99 Oct 2040 07:28:00 GMT", "Wed, 21 Oct 0000 07:28:00 GMT", "Wed, 21 Oct 99999999999 07:28:00 GMT", ", , ,"],
)
def test_what_says_nothing_opens_as_long_as_the_rules_say(text: str) -> None:
    assert opens_for(text) == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize(
    ("asked", "wait"),
    [(-1.7, 1), (float("nan"), 1), (float("inf"), 300), (3e9, 300), (timedelta(seconds=-5), 1), (timedelta(seconds=9), 9)],
)
def test_what_a_program_reckons_from_two_clocks_does_not_raise(asked: float | timedelta, wait: float) -> None:
    assert opens_for(asked) == pytest.approx(wait, abs=0.1)


def test_only_the_rules_say_how_long_is_too_long() -> None:
    for asked in (172_800, "172800", timedelta(days=2)):
        breaker = Breaker(rules=Rules(max_retry_after=timedelta(days=3)))
        with breaker.attempt() as attempt:
            attempt.down(asked)
        assert breaker.snapshot().retry_in == pytest.approx(172_800, abs=200)


@pytest.mark.parametrize("asked", [True, b"5", [5], datetime(2030, 1, 1)])
def test_what_is_no_time_says_so(asked: float) -> None:
    with pytest.raises(SettingsError, match="neither seconds nor a timedelta"):
        opens_for(asked)


def test_nothing_in_a_header_raises() -> None:
    seed = time.time_ns()
    print(f"seed {seed}")
    chance = random.Random(seed)
    words = ["Wed,", "21", "Oct", "2040", "07:28:00", "GMT", "-0000", "+9999", ":", "", "99999999999999", "-1", "\t", "é", ","]
    breaker = Breaker(rules=RULES)
    for _ in range(20_000):
        text = chance.choice(["", " ", "-"]).join(chance.choices(words, k=chance.randrange(9)))
        with breaker.attempt() as attempt:
            attempt.down(text)
        assert 0 < (breaker.snapshot().retry_in or 0) <= 300
        breaker.reset()
