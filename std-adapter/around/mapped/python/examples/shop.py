# SPDX-License-Identifier: MIT OR Apache-2.0
"""A service with a database that may be down: WSGI, without a framework. With gunicorn:

    gunicorn --workers 8 "shop:app"

One breaker for all workers: what one learns, the others know. In BREAKER is its file; without it, the workers share one that
was made before they were forked if gunicorn runs with --preload, and have one each if not.
"""

import os
import socket
from collections.abc import Callable, Iterable
from typing import Any

from atomic_breaker import Breaker, Rejected, Rules

RULES = Rules(open_for=0.2, probe_lease=2)
PORT = int(os.environ.get("PORT", "8080"))

database = Breaker(os.environ.get("BREAKER"), RULES)


class DatabaseDown(Exception):
    """It did not answer."""


def query(is_probe: bool) -> None:
    """Asks the database, with a time limit: a breaker cannot end a call."""
    with socket.create_connection(("127.0.0.1", PORT), timeout=1) as connection:
        connection.sendall(b"probe\n" if is_probe else b"call\n")
        if connection.recv(2) != b"ok":
            raise DatabaseDown


def app(_environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    """The orders of a customer, or at once the advice to come back."""
    try:
        with database.attempt() as attempt:
            query(attempt.is_probe)
    except Rejected as rejected:
        # At once: no worker waits for a database that is down.
        start_response("503 Service Unavailable", [("Retry-After", str(rejected.retry_after))])
        return [b"later"]
    except (DatabaseDown, OSError):
        start_response("502 Bad Gateway", [])
        return [b"down"]
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"orders"]
