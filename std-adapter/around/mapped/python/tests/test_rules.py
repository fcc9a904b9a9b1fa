# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules, and files that cannot be opened."""

import os
import pathlib
from datetime import timedelta

import pytest

from atomic_breaker import Breaker, Breakers, SetupError, Disagreement, Foreign, NotTrusted, Rules, SettingsError
from atomic_breaker import SystemRefused

ALL = """
[other]
[busy]
consecutive_failures = 7
lasting_ms = 250
[database]
failures_within = { failures = 20, window_ms = 10000 }
slow_call_ms = 2000
open_for_ms = 70
exponential_percent = { percent = 150, max_ms = 60000 }
jitter_percent = 20
max_retry_after_ms = 120000
probes = 3
close_after = 5
probe_lease_ms = 15000
cancel_limit_ms = 100
gradual_return = { first_percent = 10, over_ms = 30000 }
"""


def test_rules_of_a_file_are_those_in_code(folder: pathlib.Path) -> None:
    file = folder / "breakers.toml"
    file.write_text(ALL)
    read = Rules.read(file, "database")
    assert read == Rules(
        failures_within=(20, 10.0),
        slow_call=2.0,
        open_for=0.07,
        exponential=(1.5, 60.0),
        jitter_percent=20,
        max_retry_after=120.0,
        probes=3,
        close_after=5,
        probe_lease=15.0,
        cancel_limit=0.1,
        gradual_return=(10, 30.0),
    )
    one = Breaker(folder / "one", read)
    other = Breaker(folder / "one", Rules(**{**vars(read), "open_for": timedelta(milliseconds=70)}))
    one.trip()
    assert other.state == one.state
    assert Rules.read(file, "other") == Rules()
    assert Rules.read(file, "busy") == Rules(consecutive_failures=7, lasting=0.25)
    with pytest.raises(SettingsError, match=r"there is no \[mail\] in it, but: busy, database, other"):
        Rules.read(file, "mail")
    with pytest.raises(SystemRefused, match="missing"):
        Rules.read(folder / "missing", "mail")


@pytest.mark.parametrize(
    "rules",
    [
        {"consecutive_failures": 0},
        {"consecutive_failures": 65_536},
        {"consecutive_failures": True},
        {"consecutive_failures": 2.5},
        {"consecutive_failures": -1},
        {"consecutive_failures": 2**32 + 5},
        {"failures_within": (5, 0)},
        {"lasting": -1},
        {"lasting": timedelta(days=25)},
        {"lasting": 0.1, "consecutive_failures": 32_768},
        {"lasting": 0.1, "failures_within": (5, 1)},
        {"open_for": -1},
        {"open_for": float("nan")},
        {"open_for": float("inf")},
        {"open_for": timedelta(days=25)},
        {"exponential": (1, 60)},
        {"exponential": (2, 1)},
        {"exponential": (float("nan"), 60)},
        {"exponential": (2, 60), "linear": (1, 60)},
        {"linear": (0, 60)},
        {"jitter_percent": 101},
        {"probes": 0},
        {"probes": 256},
        {"close_after": 0},
        {"probes": 3, "close_after": 2},
        {"probe_lease": 0},
        {"slow_call": 0},
        {"gradual_return": (0, 0)},
        {"gradual_return": (101, 5)},
    ],
)
def test_rules_that_do_not_fit_are_an_error_before_anything_is_opened(rules: dict[str, object]) -> None:
    with pytest.raises(SettingsError):
        Rules(**rules)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rules", "text"),
    [
        ({"consecutive_failures": 0}, "consecutive_failures: 1 to 65535"),
        ({"failures_within": (0, 1)}, "failures_within: 1 to 65535"),
        ({"failures_within": 5}, "failures_within: 5 is not (failures, seconds)"),
        ({"exponential": (60, 2)}, "exponential: a maximum below open_for"),
        ({"linear": (1, 2)}, "linear: a maximum below open_for"),
        ({"linear": (0.001, 60)}, "linear: not reached by the 31st trip: lower it"),
        ({"open_for": 0.001, "exponential": (1.01, 60)}, "exponential: not reached by the 31st trip: lower it"),
        ({"exponential": (1.001, 60)}, "exponential: 1.001 grows by less than 1 %"),
        ({"close_after": 0}, "close_after: probes to 255"),
        ({"probes": 3, "close_after": 2}, "close_after: probes to 255"),
        ({"open_for": timedelta(days=24), "jitter_percent": 50}, "open_for: with jitter at most 2^31 ms"),
        (
            {"exponential": (2, timedelta(days=24)), "jitter_percent": 50},
            "open_for, or the maximum of exponential: with jitter at most 2^31 ms",
        ),
        ({"exponential": (0.5, 60)}, "exponential: 0.5 is no factor above 1"),
        ({"consecutive_failures": 3, "failures_within": (9, 1)}, "consecutive_failures, failures_within: one of them"),
        (
            {"lasting": 0.1, "consecutive_failures": 32_768},
            "lasting: at most 2^31 ms, with 1 to 32767 failures in a row",
        ),
        ({"lasting": 0.1, "failures_within": (9, 1)}, "lasting, failures_within: one of them"),
        ({"exponential": 2}, "exponential: 2 is not (factor, most seconds)"),
        ({"exponential": ("2", 60)}, "exponential: '2' is no factor above 1"),
        ({"open_for": "1"}, "open_for: '1' is neither seconds nor a timedelta"),
        ({"open_for": -1}, "open_for: -1 s is not between 0 and 2147483.648 s"),
        ({"probe_lease": 0}, "probe_lease: 1 to 2^31 ms"),
        ({"jitter_percent": 101}, "jitter_percent: "),
        ({"gradual_return": (101, 5)}, "gradual_return: "),
    ],
)
def test_what_is_wrong_with_rules_is_told_in_the_words_of_python(rules: dict[str, object], text: str) -> None:
    with pytest.raises(SettingsError) as raised:
        Rules(**rules)  # type: ignore[arg-type]
    assert str(raised.value).startswith(text)


@pytest.mark.parametrize("number", [0, -1, 2**32 + 5, 10**12, True, "5", 2.0])
def test_numbers_are_not_cut_to_what_the_library_holds(folder: pathlib.Path, number: int) -> None:
    with pytest.raises(SettingsError, match="keys: "):
        Breakers(folder / "hosts", keys=number)
    with pytest.raises(SettingsError, match="key_bytes: "):
        Breakers(folder / "hosts", key_bytes=number)
    if isinstance(number, bool) or number != 0:
        with Breaker().attempt() as attempt, pytest.raises(SettingsError, match="weight: "):
            attempt.failure(number)
    assert not (folder / "hosts").exists()


def test_arguments_of_a_wrong_type_say_so_at_once(folder: pathlib.Path) -> None:
    for failure in (5, (), "timeout", int, (ValueError, 5), KeyboardInterrupt):
        with pytest.raises(TypeError, match="failure: "):
            Breaker(failure=failure)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="rules: "):
        Breaker(folder / "database", {"open_for": 1})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a key is a str"):
        Breakers()[1]  # type: ignore[index]
    for path in ("", "a\0b"):
        with pytest.raises(SettingsError, match="is no path"):
            Breaker(path)
    with pytest.raises(SettingsError, match="is not the name of a table"):
        Rules.read("breakers.toml", None)  # type: ignore[arg-type]


def test_rules_show_what_differs_from_the_defaults() -> None:
    assert repr(Rules(consecutive_failures=3, open_for=1)) == "Rules(consecutive_failures=3, open_for=1)"
    assert Rules(open_for=1) == Rules(open_for=1) and len({Rules(), Rules()}) == 1


def test_other_rules_are_refused_unless_nobody_uses_the_file(folder: pathlib.Path) -> None:
    path = folder / "database"
    in_use = Breaker(path)
    other = Rules(consecutive_failures=4)
    for replace in (False, True):
        with pytest.raises(Disagreement, match="was made with other rules"):
            Breaker(path, other, replace_unused=replace)
    del in_use
    assert Breaker(path, other, replace_unused=True).origin.name == "AFTER_OTHER_RULES"
    with pytest.raises(Disagreement, match="holds a single breaker"):
        Breakers(path, other)


def test_breakers_with_names_that_nobody_has_any_more_do_not_use_their_file(folder: pathlib.Path) -> None:
    hosts = Breakers(folder / "hosts")
    kept = hosts["a.example"]
    del hosts
    with pytest.raises(Disagreement):
        Breakers(folder / "hosts", Rules(consecutive_failures=4), replace_unused=True)
    del kept
    other = Breakers(folder / "hosts", Rules(consecutive_failures=4), replace_unused=True)
    assert len(other) == 0


def test_a_file_that_cannot_be_used_says_why(folder: pathlib.Path) -> None:
    cases: list[tuple[str, type[SetupError], str]] = [
        ("none/database", SystemRefused, "make its directory first"),
        ("foreign", Foreign, "is not a file of breakers"),
        ("link", NotTrusted, "symbolic link"),
        ("open", NotTrusted, "set 0600"),
    ]
    foreign = folder / "foreign"
    foreign.write_bytes(b"x" * 300)
    foreign.chmod(0o600)
    (folder / "link").symlink_to(foreign)
    Breaker(folder / "open")
    os.chmod(folder / "open", 0o666)
    for name, kind, text in cases:
        with pytest.raises(kind, match=text) as raised:
            Breaker(folder / name)
        assert str(folder / name) in str(raised.value)
