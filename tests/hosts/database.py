# SPDX-License-Identifier: MIT OR Apache-2.0
"""The resource that all processes call: it is up or down, and watches who calls it meanwhile."""

import random
import socket
import threading
import time

UP, DOWN = 0.003, 0.02
# The clock of the breakers is in whole ones.
MILLISECOND = 0.001
LEASE, OPEN = 2.0, 0.2


class Database:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lock = threading.Lock()
        self.is_up = True
        self.outages = 0
        self.wrong = []
        self.probes = {}
        # Of the outage that is on: calls that are no probes.
        self.wasted = 0
        self.most_wasted = 0
        self.all_wasted = 0
        # Of the recovery that is on.
        self.probes_that_succeeded = 0
        self.probe_failed = None
        self.all_probes = 0
        self.calls = 0
        self.recovered = threading.Event()
        self.recovered.set()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.listener.accept()
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with connection:
            connection.settimeout(5)
            try:
                is_probe = connection.recv(16).startswith(b"probe")
            except OSError:
                return
            with self.lock:
                answer, outage = self.begin(connection, is_probe), self.outages
            ends = time.monotonic() + (UP if answer else self.random.uniform(0.2, 1) * DOWN)
            # One that is killed is noticed at once, so that its probe is not taken for one in flight.
            connection.settimeout(max(0.001, ends - time.monotonic()))
            try:
                is_gone = connection.recv(1) == b""
            except TimeoutError:
                is_gone = False
            except OSError:
                is_gone = True
            with self.lock:
                self.probes.pop(connection, None)
                if is_probe and not is_gone:
                    self.probe_failed = None if answer else time.monotonic()
                    self.probes_that_succeeded += answer
                if answer and not is_gone and outage == self.outages:
                    self.recovered.set()
            if not is_gone:
                try:
                    connection.sendall(b"ok" if answer else b"no")
                except OSError:
                    pass

    def begin(self, connection, is_probe):
        """Returns whether it succeeds."""
        now = time.monotonic()
        self.calls += 1
        if is_probe:
            self.all_probes += 1
            since = [now - begun for begun in self.probes.values()]
            if any(time_in_flight < LEASE / 2 for time_in_flight in since):
                self.wrong.append(f"two probes at once, the first one since {since} s")
            # It is reported only after the answer, so nothing makes this shorter.
            if self.probe_failed is not None and now - self.probe_failed < OPEN - MILLISECOND:
                self.wrong.append(f"a probe {now - self.probe_failed} s after one that failed")
            self.probes[connection] = now
        elif not self.is_up:
            self.wasted += 1
            self.all_wasted += 1
        return self.is_up

    def go_down(self):
        with self.lock:
            self.is_up = False
            self.outages += 1
            self.wasted = 0
            self.probes_that_succeeded = 0
            self.recovered.clear()

    def go_up(self):
        with self.lock:
            self.is_up = True
            self.most_wasted = max(self.most_wasted, self.wasted)
            return self.wasted
