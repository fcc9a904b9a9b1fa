# SPDX-License-Identifier: MIT OR Apache-2.0
"""The service with FastAPI, in two processes of uvicorn, beside a server that fails."""

import http.client
import http.server
import json
import os
import pathlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

EXAMPLES = pathlib.Path(__file__).parents[1] / "examples"


class Server(http.server.ThreadingHTTPServer):
    """The database and both warehouses. What it answers, and how often it was asked."""

    daemon_threads = True
    status = 200
    headers: dict[str, str] = {}
    asked = 0


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, Server)
        server.asked += 1
        self.send_response(404 if self.path.endswith("/404") else server.status)
        for name, value in server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def port(folder: pathlib.Path, server: Server) -> Iterator[int]:
    """Of the service, which is ready."""
    address = f"http://127.0.0.1:{server.server_port}"
    environment = os.environ | {
        "BREAKERS": str(folder / "orders"),
        "DATABASE": address,
        "WAREHOUSES": f"oslo={address},bergen={address}",
    }
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    command = [sys.executable, "-m", "uvicorn", "--workers", "2", "--port", str(port), "--log-level", "warning", "orders:app"]
    with subprocess.Popen(command, cwd=EXAMPLES, env=environment, stdout=subprocess.DEVNULL) as service:
        try:
            for _ in range(200):
                try:
                    get(port, "/health")
                    break
                except OSError:
                    time.sleep(0.1)
            yield port
        finally:
            service.terminate()
            service.wait(20)


def get(port: int, path: str) -> tuple[int, str | None, Any]:
    """On a connection of its own: any of the workers takes it."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    response = connection.getresponse()
    answer = response.status, response.headers["Retry-After"], json.loads(response.read())
    connection.close()
    return answer


def test_a_service_whose_workers_share_breakers(port: int, server: Server) -> None:
    assert get(port, "/orders/1")[0] == 200

    # What says nothing about the server opens nothing.
    for _ in range(10):
        assert get(port, "/orders/404")[0] == 404
    assert get(port, "/stock/rome/1")[0] == 404

    # Nor does a server that says that it is asked too often.
    server.status, server.asked = 429, 0
    for _ in range(10):
        assert get(port, "/orders/1")[0] == 502
        assert get(port, "/stock/oslo/1")[0] == 502
        # Failures would last long enough.
        time.sleep(0.03)
    assert server.asked == 20
    assert get(port, "/health")[2]["database"]["state"] == "closed"

    # Of all workers together five calls fail, and no more are made once the first of them is 100 ms ago.
    server.status, server.asked = 500, 0
    answers = [get(port, "/orders/1") for _ in range(4)]
    time.sleep(0.1)
    answers += [get(port, "/orders/1") for _ in range(20)]
    assert [status for status, _, _ in answers] == [502] * 5 + [503] * 19
    assert server.asked == 5 and {wait for _, wait, _ in answers[5:]} <= {"1", "2"}

    # A warehouse that asks for time gets it when it has asked often enough; the other one goes on.
    server.status, server.headers = 503, {"Retry-After": "7"}
    assert [get(port, "/stock/oslo/1")[0] for _ in range(4)] == [502] * 4
    time.sleep(0.1)
    assert get(port, "/stock/oslo/1")[0] == 502
    server.status, server.headers = 200, {}
    status, wait, detail = get(port, "/stock/oslo/1")
    assert (status, detail) == (503, {"detail": "oslo is down"}) and wait in ("7", "8", "9")
    assert get(port, "/stock/bergen/1")[0] == 200

    # All recover by themselves.
    deadline = time.monotonic() + 20
    while get(port, "/orders/1")[0] != 200:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    _, _, health = get(port, "/health")
    # Its one trip is not forgotten yet.
    assert health["database"]["state"] == "returning" and health["database"]["retry_in"] == 0
    assert {key: it["state"] for key, it in health["warehouses"].items()} == {"oslo": "open", "bergen": "closed"}
