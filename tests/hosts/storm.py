#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Eight workers of gunicorn, a program in Rust and one in C call one server that goes down again and again, while random
ones of them are killed: first each process with a breaker of its own, then all with one.

    storm.py SECONDS FOLDER GUNICORN RUST C

What must hold with one breaker: never two probes at once; in an outage no more calls than it takes to trip, counted over all
processes, and those in flight; all served again soon after it; no worker waits. Prints the figures of both; exits with 1 if
something does not hold. SEED in the environment repeats the times of outages and kills.
"""

import http.client
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

from atomic_breaker import Breaker, State
from database import LEASE, OPEN, Database

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "std-adapter/around/mapped/python/examples"))
from shop import RULES  # noqa: E402 (its folder is no package)

WORKERS = 8
LIMIT = 5
# Every process has at most one call in flight.
IN_FLIGHT = WORKERS + 2
# Of a machine with other work. A rejection itself takes microseconds.
PATIENCE = 2.0


class Storm:
    def __init__(self, kind, folder, programs, seed):
        self.kind, self.random = kind, random.Random(seed)
        self.database = Database(seed)
        self.file = folder / kind
        self.gunicorn, self.rust, self.c = programs
        self.latencies = {200: [], 502: [], 503: []}
        self.kills = 0
        self.broken = 0
        self.slowest_return = 0.0
        self.wrong = []
        self.is_over = threading.Event()
        self.steady_since = time.monotonic()
        self.started = []

    def start(self):
        environment = os.environ | {"PORT": str(self.database.port)}
        if self.kind == "one":
            environment["BREAKER"] = str(self.file)
            self.breaker = Breaker(self.file, RULES)
        command = [self.gunicorn, "--workers", str(WORKERS), "--bind", "127.0.0.1:0", "--chdir", examples(), "shop:app"]
        self.log = open(self.file.with_suffix(".log"), "w+")
        self.master = subprocess.Popen(command, env=environment, stderr=self.log, stdout=subprocess.DEVNULL)
        self.started.append(self.master)
        self.port = int(self.wait_for(r"Listening at: http://127.0.0.1:(\d+)"))
        self.others = [self.rust, self.c]
        self.running = [self.other(number) for number in range(2)]

    def wait_for(self, pattern):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            found = re.search(pattern, pathlib.Path(self.log.name).read_text())
            if found:
                return found[1]
            time.sleep(0.05)
        raise SystemExit(f"gunicorn does not start, see {self.log.name}")

    def other(self, number):
        file = self.file if self.kind == "one" else self.file.with_name(f"{self.file.name}-{number}")
        process = subprocess.Popen([self.others[number], str(file), str(self.database.port)])
        self.started.append(process)
        return process

    def children(self):
        found = pathlib.Path(f"/proc/{self.master.pid}/task/{self.master.pid}/children").read_text()
        return [int(number) for number in found.split()]

    def kill_one(self):
        number = self.random.randrange(IN_FLIGHT)
        if number < 2:
            if self.running[number].poll() is not None:
                self.wrong.append(f"{self.others[number]} has ended by itself")
            self.running[number].kill()
            self.running[number].wait()
            self.running[number] = self.other(number)
        else:
            children = self.children()
            if not children:
                return
            os.kill(self.random.choice(children), signal.SIGKILL)
        self.kills += 1

    def visit(self):
        """A visitor after the other, as fast as they are served."""
        while not self.is_over.is_set():
            begun, steady = time.monotonic(), self.steady_since
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
                connection.request("GET", "/")
                status = connection.getresponse().status
                connection.close()
            except (OSError, http.client.HTTPException):
                # Of a worker that was killed.
                self.broken += 1
                continue
            took = time.monotonic() - begun
            self.latencies[status].append(took)
            if status != 200 and steady is not None and steady < begun and self.steady_since == steady:
                self.wrong.append(f"{status} long after the last outage")
            time.sleep(0.004)

    def run(self, seconds):
        self.start()
        visitors = [threading.Thread(target=self.visit) for _ in range(6)]
        for visitor in visitors:
            visitor.start()
        try:
            end = time.monotonic() + seconds
            while time.monotonic() < end:
                self.outage()
        finally:
            self.is_over.set()
            for visitor in visitors:
                visitor.join()
            self.end()

    def outage(self):
        self.calm(self.random.uniform(0.6, 1.5))
        self.steady_since = None
        self.database.go_down()
        kills = self.kills
        self.calm(self.random.uniform(0.5, 2))
        wasted = self.database.go_up()
        up, kills_before = time.monotonic(), self.kills
        allowed = LIMIT + IN_FLIGHT + self.kills - kills
        if self.kind == "one" and wasted > allowed:
            self.wrong.append(f"{wasted} calls in an outage, with {self.kills - kills} kills")
        if self.kind == "own":
            self.database.recovered.wait(5)
            self.slowest_return = max(self.slowest_return, time.monotonic() - up)
            time.sleep(0.5)
            return
        # A prober that was killed, perhaps between the answer and its report, holds its place for the lease.
        while self.breaker.state != State.CLOSED and time.monotonic() - up < LEASE + OPEN + PATIENCE:
            time.sleep(0.002)
        self.slowest_return = max(self.slowest_return, time.monotonic() - up)
        if self.breaker.state != State.CLOSED:
            self.wrong.append(f"still {self.breaker.state} after {self.slowest_return:.1f} s")
            return
        # One that was killed before it reported has closed nothing.
        probes = self.database.probes_that_succeeded
        if probes > 1 + self.kills - kills_before:
            self.wrong.append(f"{probes} probes succeeded before it was closed, with {self.kills - kills_before} kills")
        # Whatever was rejected before has been answered.
        time.sleep(0.2)
        self.steady_since = time.monotonic()

    def calm(self, seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            time.sleep(min(left, self.random.uniform(0.05, 0.4)))
            self.kill_one()

    def end(self):
        for process in self.started:
            if process.poll() is None:
                process.terminate()
        for process in self.started:
            process.wait(20)
        rejected = sorted(self.latencies[503])
        if self.kind == "one":
            self.wrong += self.database.wrong
            if rejected and rejected[int(len(rejected) * 0.99)] > PATIENCE:
                self.wrong.append(f"a hundredth of the rejections took longer than {PATIENCE} s")

    def row(self):
        data, all_times = self.database, [time for times in self.latencies.values() for time in times]
        rejected = sorted(self.latencies[503]) or [0]
        blocked = sum(self.latencies[502])
        return (
            f"{self.kind:5} {len(all_times):9} {self.kills:6} {data.all_wasted:7} {data.most_wasted:8} "
            f"{data.all_probes:7} {blocked:9.1f} s {1000 * rejected[len(rejected) // 2]:9.1f} ms "
            f"{1000 * self.slowest_return:8.0f} ms"
        )


def examples():
    return pathlib.Path(__file__).resolve().parents[2] / "std-adapter/around/mapped/python/examples"


def main():
    seconds, folder, *programs = sys.argv[1:]
    seed = int(os.environ.get("SEED", time.time_ns() % 2**32))
    print(f"SEED={seed}")
    print("breaker  requests  kills  wasted  at most  probes     blocked   rejected in   return in")
    wrong = []
    for kind in ("own", "one"):
        storm = Storm(kind, pathlib.Path(folder), programs, seed)
        storm.run(float(seconds))
        print(storm.row(), flush=True)
        wrong += storm.wrong
    print(*wrong[:10], sep="\n")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
