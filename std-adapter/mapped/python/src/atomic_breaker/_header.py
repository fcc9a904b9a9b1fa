# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a response asks for: the header Retry-After, RFC 9110, section 10.2.3."""

import time
from datetime import UTC
from email.utils import parsedate_to_datetime

# A date needs 29 characters. What is longer is hostile.
_LONGEST = 64
_A_DAY = 86_400


def seconds(text: str) -> float:
    """Whole seconds, or the time until a date. 0 for a date that is over, and for a text that is neither.

    What is more than a day is a day: the rules allow less by default.
    """
    text = text.strip()
    if len(text) > _LONGEST or not text.isascii():
        return 0
    if text.isdigit():
        return min(int(text), _A_DAY)
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:
            date = date.replace(tzinfo=UTC)
        return min(max(date.timestamp() - time.time(), 0), _A_DAY)
    except (ValueError, OverflowError, IndexError):
        return 0
