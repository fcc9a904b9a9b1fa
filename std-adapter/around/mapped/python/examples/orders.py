# SPDX-License-Identifier: MIT OR Apache-2.0
"""A service with FastAPI, whose workers share their breakers: one for its database, one for each warehouse that it asks.

    pip install fastapi uvicorn httpx
    BREAKERS=/dev/shm/orders uvicorn orders:app --workers 4

BREAKERS is the folder of their files; systemd makes one with `RuntimeDirectory=orders`, which is /run/orders.
"""

import logging
import os
import pathlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from fastapi import FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse

from atomic_breaker import Attempt, Breaker, Breakers, Rejected, Rules

logging.basicConfig(level=logging.INFO)
FOLDER = pathlib.Path(os.environ.get("BREAKERS", "/dev/shm/orders"))
FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)
DATABASE = os.environ.get("DATABASE", "http://127.0.0.1:5432")
# Only these get a breaker: names that come from outside would take all the places.
WAREHOUSES = dict(pair.split("=") for pair in os.environ.get("WAREHOUSES", "oslo=http://127.0.0.1:8001").split(","))

# Five failures in a row, of all workers together, in which 100 ms have passed. A worker that is killed in a probe gives its place back after the lease.
RULES = Rules(lasting=0.1, open_for=1, exponential=(2, 30), jitter_percent=20, probe_lease=3)
database = Breaker(FOLDER / "database", RULES)
warehouses = Breakers(FOLDER / "warehouses", RULES, keys=100, key_bytes=40)
# Shorter than the lease.
LIMIT = 2
# Statuses that say no to one request, and nothing about the server.
OF_ONE_REQUEST = (501, 505, 507, 511)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with httpx.AsyncClient(timeout=LIMIT) as client:
        app.state.client = client
        yield


app = FastAPI(lifespan=lifespan)


@app.exception_handler(Rejected)
async def come_back(_request: Request, rejected: Rejected) -> JSONResponse:
    """At once: nobody waits for what is down."""
    return JSONResponse({"detail": f"{rejected.name} is down"}, 503, {"Retry-After": str(rejected.retry_after)})


@app.exception_handler(httpx.HTTPError)
@app.exception_handler(TimeoutError)
async def failed(_request: Request, _error: Exception) -> JSONResponse:
    return JSONResponse({"detail": "no answer"}, 502)


async def ask(request: Request, attempt: Attempt, address: str) -> httpx.Response:
    """A response that says that the server is in trouble is no exception: the breaker is told."""
    response: httpx.Response = await request.app.state.client.get(address)
    if response.status_code == 429:
        # We ask too often, which says nothing of the server.
        attempt.ignore()
    elif response.status_code == 503:
        attempt.failure(retry_after=response.headers.get("Retry-After"))
    elif response.status_code >= 500 and response.status_code not in OF_ONE_REQUEST:
        attempt.failure()
    return response


def content(response: httpx.Response) -> Any:
    """Raises outside the attempt: within, an HTTPException would be a failure as any other."""
    if response.is_error:
        raise HTTPException(404 if response.status_code == 404 else 502)
    return response.json()


@app.get("/orders/{customer}")
async def orders(request: Request, customer: int) -> Any:
    async with database.attempt(timeout=LIMIT) as attempt:
        response = await ask(request, attempt, f"{DATABASE}/orders/{customer}")
    return content(response)


@app.get("/stock/{warehouse}/{item}")
async def stock(request: Request, warehouse: str, item: int) -> Any:
    if warehouse not in WAREHOUSES:
        raise HTTPException(404)
    async with warehouses[warehouse].attempt(timeout=LIMIT) as attempt:
        response = await ask(request, attempt, f"{WAREHOUSES[warehouse]}/stock/{item}")
    return content(response)


@app.get("/health")
async def health() -> dict[str, Any]:
    """It is well, whatever has failed: another copy of it would not be better off."""
    return {"database": database.snapshot(), "warehouses": {key: it.snapshot() for key, it in warehouses.items()}}
