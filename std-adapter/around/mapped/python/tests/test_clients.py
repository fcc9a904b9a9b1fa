# SPDX-License-Identifier: MIT OR Apache-2.0
"""Clients that nobody here wrote, guarded as the page says."""

import http.server
import threading
from collections.abc import Callable, Iterator

import httpx
import pytest
import requests

from atomic_breaker import Breaker, Rejected


class Answers(http.server.BaseHTTPRequestHandler):
    """With the status in the path."""

    def do_GET(self) -> None:
        self.send_response(int(self.path[1:]))
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{served.server_port}"
        served.shutdown()


def by_httpx(error: Exception) -> bool:
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code >= 500
    return isinstance(error, httpx.RequestError)


def by_requests(error: Exception) -> bool:
    if isinstance(error, requests.HTTPError):
        return error.response.status_code >= 500
    return isinstance(error, requests.RequestException)


CLIENTS: list[tuple[Callable[..., object], Callable[[Exception], bool]]] = [
    (lambda url: httpx.get(url, timeout=2).raise_for_status(), by_httpx),
    (lambda url: requests.get(url, timeout=2).raise_for_status(), by_requests),
]


@pytest.mark.parametrize(("get", "is_down"), CLIENTS)
def test_what_is_not_there_opens_nothing_and_closes_what_was_open(
    server: str, get: Callable[..., object], is_down: Callable[[Exception], bool]
) -> None:
    api = Breaker(failure=is_down)
    guarded = api(get)
    for _ in range(20):
        with pytest.raises(Exception, match="404"):
            guarded(f"{server}/404")
    assert api.state == "closed"
    for _ in range(5):
        with pytest.raises(Exception, match="503"):
            guarded(f"{server}/503")
    with pytest.raises(Rejected):
        guarded(f"{server}/200")
    api.probe_now()
    with pytest.raises(Exception, match="404"):
        guarded(f"{server}/404")
    assert api.state == "closed"


@pytest.mark.parametrize(("get", "is_down"), CLIENTS)
def test_a_server_that_is_gone_opens(get: Callable[..., object], is_down: Callable[[Exception], bool]) -> None:
    api = Breaker(failure=is_down)
    for _ in range(5):
        with pytest.raises(Exception, match="refused|[Cc]onnect"):
            api(get)("http://127.0.0.1:9/")
    assert api.state == "open"
