# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a response asks for: the header Retry-After, RFC 9110, section 10.2.3."""

import time
from datetime import UTC, timedelta
from email.utils import parsedate_to_datetime

# A date needs 29 characters. What is longer is hostile.
_LONGEST = 64
# Seconds: what the library takes. The rules allow less.
_MOST = 2_147_483.648


def seconds(asked: float | timedelta | str) -> float | timedelta:
    """What is over, or says nothing, is 0; what is more than 24 days is that."""
    if isinstance(asked, str):
        asked = _of_text(asked.strip())
    if isinstance(asked, timedelta):
        asked = asked.total_seconds()
    if isinstance(asked, bool) or not isinstance(asked, (int, float)):
        # For the error that says what is allowed.
        return asked
    return min(max(asked, 0), _MOST) if asked == asked else 0


def _of_text(text: str) -> float:
    """Whole seconds, or the time until a date."""
    if len(text) > _LONGEST or not text.isascii():
        return 0
    if text.isdigit():
        return int(text)
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return date.timestamp() - time.time()
    except (ValueError, OverflowError, IndexError):
        return 0
