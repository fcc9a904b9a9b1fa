# SPDX-License-Identifier: MIT OR Apache-2.0
"""Processes that share a breaker."""

import copy
import ctypes
import logging
import multiprocessing
import os
import pathlib
import pickle
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest
from conftest import Down, fail

from atomic_breaker import _library as library
from atomic_breaker import Breaker, Breakers, NoRoom, Origin, Rejected, Rules, State

PROBE = Rules(open_for=0.05, probe_lease=0.2)


def test_two_in_one_file_are_one(folder: pathlib.Path) -> None:
    path = folder / "database"
    one, other = Breaker(path), Breaker(str(path))
    assert (one.origin, other.origin) == (Origin.CREATED, Origin.JOINED)
    fail(one, 3)
    fail(other, 2)
    assert one.state == other.state == State.OPEN
    assert one.name == "database" and repr(one) == "<Breaker database: open>"


def test_forked_workers_share_one_that_was_opened_before(folder: pathlib.Path) -> None:
    for breaker in (Breaker(), Breaker(folder / "database")):
        for _ in range(5):
            child = os.fork()
            if child == 0:
                try:
                    with breaker.attempt():
                        raise Down
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
        assert breaker.state == State.OPEN


def in_a_child(breaker: Breaker) -> int:
    fail(breaker, 2)
    return breaker.state


FORKS = """
import os, sys
from conftest import rejects_others
from atomic_breaker import Breaker, Rules
breaker = Breaker(rules=Rules(open_for=60))
breaker.trip()
breaker.probe_now()
with breaker.attempt() as probe:
    if os.fork() == 0:
        assert not probe.is_probe
        {child}
        os._exit(0)
    os.wait()
    print(rejects_others(breaker))
print(breaker.state)
"""


CLOSED_AND_FORKED = """
import os
from atomic_breaker import Breaker, Rules
breaker = Breaker(rules=Rules(consecutive_failures=1))
try:
    with breaker.attempt():
        if os.fork() == 0:
            raise ValueError
except ValueError:
    os._exit(0)
os.wait()
print(breaker.state)
"""


def test_a_child_that_is_forked_in_a_call_does_not_report_it() -> None:
    done = subprocess.run([sys.executable, "-c", CLOSED_AND_FORKED], capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["closed"], done.stderr


@pytest.mark.parametrize("child", ["sys.exit()", "raise ValueError", "probe.failure()", "probe.down(50)", "del probe"])
def test_a_child_that_is_forked_in_a_probe_does_not_end_the_probe(child: str) -> None:
    command = [sys.executable, "-c", FORKS.format(child=child)]
    done = subprocess.run(command, cwd=pathlib.Path(__file__).parent, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["True", "closed"], done.stderr


CLOSED = """
import os, sys
from atomic_breaker import Breaker
for number in range(3):
    os.close(number)
breaker = Breaker(sys.argv[1])
breaker.force_open()
for number in range(3):
    try:
        os.write(number, b"a line of the log" * 50)
    except OSError:
        continue
    os._exit(1)
os._exit(0)
"""


def test_a_program_without_standard_streams_writes_no_log_over_its_breakers(folder: pathlib.Path) -> None:
    for _ in ("it creates the file", "it opens it"):
        assert subprocess.run([sys.executable, "-c", CLOSED, str(folder / "database")], timeout=60).returncode == 0
        assert Breaker(folder / "database").state == State.FORCED_OPEN


def test_a_pool_that_starts_anew_opens_the_same_file(folder: pathlib.Path) -> None:
    breaker = Breaker(folder / "database", Rules(consecutive_failures=4))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(in_a_child, [breaker, breaker]) == [State.CLOSED, State.OPEN]
    assert breaker.state == State.OPEN


def test_breakers_with_names_go_to_other_processes_too(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    hosts = Breakers("hosts", Rules(consecutive_failures=1), keys=5, failure=Down)
    fail(hosts["a"])
    copies = pickle.dumps((hosts, hosts["a"]))
    # A path means the same file, wherever a process goes.
    monkeypatch.chdir("/")
    others, other = pickle.loads(copies)
    assert other.state == others["a"].state == State.OPEN and other.name == "a"
    with pytest.raises(ValueError), others["b"].attempt():
        raise ValueError
    assert hosts["b"].state == State.CLOSED and "b" in hosts and "c" not in others and len(hosts) == 2
    for local in (Breaker(), Breakers(), Breakers()["a"]):
        with pytest.raises(TypeError, match="a path"):
            pickle.dumps(local)


def test_a_copy_is_the_same_breaker() -> None:
    breaker = Breaker()
    assert copy.copy(breaker) is breaker and copy.deepcopy({"a": breaker})["a"] is breaker


KILLED = """
import os, sys, time
from atomic_breaker import Breaker, Rules
breaker = Breaker(sys.argv[1], Rules(open_for=0.05, probe_lease=0.2))
with breaker.attempt() as attempt:
    print(attempt.is_probe, flush=True)
    time.sleep(60)
"""


def test_a_probe_that_is_killed_is_given_up_after_its_lease(folder: pathlib.Path) -> None:
    path = folder / "database"
    breaker = Breaker(path, PROBE)
    breaker.trip()
    time.sleep(0.06)
    with subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE) as prober:
        assert prober.stdout and prober.stdout.readline() == b"True\n"
        prober.kill()
    begun = time.monotonic()
    while breaker.state != State.CLOSED:
        try:
            with breaker.attempt():
                pass
        except Rejected as rejected:
            assert rejected.retry_in is not None and rejected.retry_in <= 0.2
            time.sleep(rejected.retry_in)
    assert time.monotonic() - begun < 2


def test_the_clock_is_the_one_that_all_processes_read() -> None:
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    now = library.now_ms()
    after = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    assert (now - before) % 2**32 <= after - before


def test_threads_count_each_failure_once() -> None:
    breaker = Breaker(rules=Rules(consecutive_failures=60_000))
    threads = [threading.Thread(target=fail, args=(breaker, 500)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert breaker.snapshot().failures == 4_000


def test_each_key_has_a_breaker_and_its_name_can_be_read(folder: pathlib.Path) -> None:
    rules = Rules(consecutive_failures=1)
    one, other = (Breakers(folder / "hosts", rules, keys=3) for _ in range(2))
    fail(one["a.example"])
    assert (other["a.example"].state, other["ö"].state) == (State.OPEN, State.CLOSED)
    assert sorted(one) == ["a.example", "ö"] and len(other) == 2
    assert {key: it.state.name for key, it in one.items()} == {"a.example": "OPEN", "ö": "CLOSED"}
    one["c"]
    with pytest.raises(NoRoom, match="all 3 places are taken"):
        other["d"]


def test_a_key_for_which_there_is_no_place_is_no_room_whatever_it_is() -> None:
    hosts = Breakers()
    hosts["x" * 98]
    for key, text in [("x" * 99, "99 bytes"), ("ö" * 50, "100 bytes"), ("a\0b", "no text"), ("\ud800", "no text")]:
        with pytest.raises(NoRoom, match=text):
            hosts[key]


def test_keys_of_programs_in_rust_that_are_no_text_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    hosts = Breakers(keys=8)
    hosts["a.example"]

    def each(_map: object, tell: Callable[..., None], _context: object) -> None:
        for key in (b"a.example", b"c\xff", bytes((10, 0, 0, 1))):
            tell(None, ctypes.cast(key, ctypes.c_void_p), len(key), None)

    listed = library.map_each
    monkeypatch.setattr(library, "map_each", each)
    assert [key for key, _ in hosts.items()] == list(hosts) == ["a.example"]
    monkeypatch.setattr(library, "map_each", listed)
    assert list(hosts) == ["a.example"], "none has taken a place"


def test_changes_are_logged_and_told(caplog: pytest.LogCaptureFixture, folder: pathlib.Path) -> None:
    told: list[State] = []
    path = folder / "database"
    breaker = Breaker(path, Rules(consecutive_failures=1, open_for=60), on_change=lambda _, state: told.append(state))
    with caplog.at_level(logging.INFO, "atomic_breaker"):
        fail(breaker)
        breaker.probe_now()
        with breaker.attempt():
            pass
        Breakers(folder / "hosts")["a.example"].trip(7)
        Breaker().force_open()
    assert told == [State.OPEN, State.HALF_OPEN, State.CLOSED]
    assert [(it.levelname, it.getMessage()) for it in caplog.records] == [
        # The folder tells one "database" from another.
        ("WARNING", f"{path}: open for 60.0 s, after Down"),
        ("INFO", f"{path}: half-open"),
        ("WARNING", f"{path}: closed"),
        ("WARNING", f"{folder}/hosts[a.example]: open for 7.0 s"),
        ("WARNING", "breaker: forced open"),
    ]


def test_a_listener_that_fails_does_no_harm(caplog: pytest.LogCaptureFixture) -> None:
    def fails(_breaker: Breaker, _state: State) -> None:
        raise Down

    breaker = Breaker(rules=Rules(consecutive_failures=1), on_change=fails)
    fail(breaker)
    assert breaker.state == State.OPEN and "on_change failed" in caplog.text


def test_commands_say_whether_they_changed_something() -> None:
    breaker = Breaker()
    assert breaker.trip(at_least=30) and breaker.snapshot().retry_in == pytest.approx(30, abs=1)
    assert breaker.probe_now() and breaker.state == State.HALF_OPEN
    assert breaker.reset() and breaker.force_open() and not breaker.force_open()
    assert breaker.release() and breaker.state == State.HALF_OPEN
    assert breaker.disable() and breaker.enable() and breaker.state == State.CLOSED


COLLECTED = """
import asyncio, gc
from atomic_breaker import Breakers, Rules

class App:
    def __init__(self):
        self.hosts = Breakers(rules=Rules(slow_call=2))
        self.tasks = set()

    async def fetch(self):
        async with self.hosts["a.example"].attempt():
            await asyncio.get_running_loop().create_future()

    async def serve(self):
        self.tasks.add(asyncio.create_task(self.fetch()))
        await asyncio.sleep(0)

for _ in range(2):
    loop = asyncio.new_event_loop()
    loop.run_until_complete(App().serve())
    loop.close()
    {collect}
"""


@pytest.mark.parametrize("collect", ["gc.collect()", "gc.disable()"])
def test_a_call_that_is_collected_together_with_its_breaker_touches_no_memory_that_is_gone(collect: str) -> None:
    done = subprocess.run([sys.executable, "-c", COLLECTED.format(collect=collect)], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()


def test_the_end_of_a_gradual_return_is_told_too() -> None:
    told: list[State] = []
    rules = Rules(consecutive_failures=1, gradual_return=(100, 0.01))
    breaker = Breaker(rules=rules, on_change=lambda _, state: told.append(state))
    fail(breaker)
    breaker.probe_now()
    with breaker.attempt():
        pass
    time.sleep(0.02)
    with breaker.attempt():
        pass
    assert breaker.state == State.CLOSED
    assert told == [State.OPEN, State.HALF_OPEN, State.RETURNING, State.CLOSED]


def test_a_path_leads_where_it_leads_programs_in_other_languages(folder: pathlib.Path) -> None:
    (folder / "releases/7").mkdir(parents=True)
    (folder / "current").symlink_to("releases/7")
    path = f"{folder}/current/../breaker"
    breaker = Breaker(path)
    assert os.path.exists(path) and breaker.name == "breaker"
