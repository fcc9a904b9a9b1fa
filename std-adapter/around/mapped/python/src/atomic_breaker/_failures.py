# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which exceptions are failures of the resource."""

import logging
from collections.abc import Callable
from typing import Any

from ._errors import Rejected

Failure = Callable[[Exception], bool] | type[Exception] | tuple[type[Exception], ...]
"""A function that says whether an exception is a failure; or the class of those that are, or several."""

_log = logging.getLogger("atomic_breaker")


def says_nothing(error: BaseException) -> bool:
    """Whether the resource was not asked: a breaker within has rejected the call, or one of several calls."""
    if isinstance(error, ExceptionGroup):
        return any(says_nothing(it) for it in error.exceptions)
    return isinstance(error, Rejected)


def judge(failure: Failure | None) -> Callable[[Exception], bool]:
    """Whether an exception is a failure, by what a user gives as `failure`."""
    if failure is None:
        return _among(_every)
    classes: Any = failure if isinstance(failure, tuple) else (failure,)
    if classes and all(isinstance(it, type) and issubclass(it, Exception) for it in classes):
        return _among(lambda error: isinstance(error, classes))
    if isinstance(failure, type) or not callable(failure):
        raise TypeError(f"failure: a function, a class of exceptions, or several in a tuple, not {failure!r}")
    return _among(failure)


def _every(_error: Exception) -> bool:
    return True


def _among(is_failure: Callable[[Exception], bool]) -> Callable[[Exception], bool]:
    """Of a group one that is a failure suffices. `Rejected` is none: nothing was called."""

    def is_one(error: Exception) -> bool:
        if isinstance(error, Rejected):
            return False
        if isinstance(error, ExceptionGroup):
            return any(is_one(it) for it in error.exceptions)
        try:
            return bool(is_failure(error))
        except Exception:
            # The user's exception is what the caller needs to see; and what is not known to be harmless counts.
            _log.exception("failure= could not judge %s", type(error).__name__)
            return True

    return is_one
