# SPDX-License-Identifier: MIT OR Apache-2.0
"""Breakers with names in one file."""

import functools
from collections.abc import Iterator
from ctypes import string_at
from typing import Any, cast

from . import _library as library
from ._breaker import PRIVATE, Breaker, OnChange, placed
from ._errors import NoRoom
from ._failures import Failure, judge
from ._file import File, StrPath
from ._rules import Rules, number


class Breakers:
    """A breaker for each of many keys, such as hosts: `hosts["a.example"]`. All have the same rules.

    keys: how many fit, at most 2^20. A key keeps its place as long as the file is there, so that keys which somebody outside
        chooses must be known ones.
    key_bytes: of the longest key in UTF-8, at most 1000.

    The others are those of `Breaker`.
    """

    def __init__(
        self,
        path: StrPath | None = PRIVATE,
        rules: Rules = Rules(),
        *,
        keys: int = 1_024,
        key_bytes: int = 98,
        failure: Failure | None = None,
        on_change: OnChange | None = None,
        replace_unused: bool = False,
    ) -> None:
        self._is_failure, self._on_change, self._key_bytes = judge(failure), on_change, key_bytes
        options = library.Options(
            number("keys", keys, 1, 1 << 20), number("key_bytes", key_bytes, 1, 1_000), replace_unused
        )
        self._file = File(placed(path), rules, options)
        again = functools.partial(
            Breakers, keys=keys, key_bytes=key_bytes, failure=failure, on_change=on_change, replace_unused=replace_unused
        )
        self._again = again, (self._file.path, rules)
        self._known: dict[str, Breaker] = {}

    def __getitem__(self, key: str) -> Breaker:
        """The breaker of a key, which gets a place if it has none.

        Raises NoRoom: all places are taken, or the key is too long, or no text.
        """
        found = self._known.get(key)
        if found is None:
            if not isinstance(key, str):
                raise TypeError(f"a key is a str, not {key!r}")
            encoded = self._encoded(key)
            found = Breaker.__new__(Breaker)
            found._place(self._file, encoded, key, self._is_failure, self._on_change, (_of_key, (self._again, key)))
            self._known[key] = found
        return found

    def _encoded(self, key: str) -> bytes:
        encoded = key.encode(errors="replace")
        if encoded.decode() != key or 0 in encoded:
            raise NoRoom(f"a key that is no text: {key[:100]!r}")
        if len(encoded) > self._key_bytes:
            where = self._file.path or "the keys"
            raise NoRoom(
                f"{where}: a key of {len(encoded)} bytes, at most {self._key_bytes} fit: open it with more key_bytes, everywhere"
            )
        return encoded

    def __contains__(self, key: object) -> bool:
        """Whether a key has a breaker, in any of the processes. Gives it none."""
        return key in self._known or any(it == key for it in self)

    def __iter__(self) -> Iterator[str]:
        """The keys that have a breaker, of all processes; without those of other languages that are no key here."""
        found: list[bytes] = []

        def each(_context: Any, name: Any, length: int, _word: Any) -> None:
            found.append(string_at(name, length))

        library.map_each(self._file.map, library.EACH(each), None)
        texts = (key.decode(errors="ignore") for key in found)
        return iter([text for key, text in zip(found, texts) if text.encode() == key and "\0" not in text])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def items(self) -> Iterator[tuple[str, Breaker]]:
        """The keys that have a breaker, of all processes, with their breakers."""
        return ((key, self[key]) for key in self)

    def __copy__(self) -> "Breakers":
        return self

    def __deepcopy__(self, memo: Any) -> "Breakers":
        return self

    def __reduce__(self) -> Any:
        if self._file.path is None:
            raise TypeError("breakers without a file cannot be sent to another process: give them a path")
        return self._again


def _of_key(again: Any, key: str) -> Breaker:
    """In another process. A breaker does not keep the others: a cycle would use the file until it is collected."""
    make, arguments = again
    return cast(Breaker, make(*arguments)[key])
