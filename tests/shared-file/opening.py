# SPDX-License-Identifier: MIT OR Apache-2.0
"""Who may create, lock and replace the shared file, and in which order: around/docs/shared-file.md."""

import fcntl
import mmap
import os
import time

from sharedfile import BEGUN, WHOLE, WORD, File, file_bytes, flaw_of_content, flaw_of_file, header

AFRESH = ("empty", "unfinished", "zeros", "restart")


class Refused(Exception):
    """The word of the page for the reason."""


class Again(Exception):
    """Another process was faster, or is busy; and why the file is refused if that does not end."""


# Opening


def opened(path, flags):
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
    except FileNotFoundError:
        raise
    except OSError:
        if os.path.islink(path):
            raise Refused("link") from None
        found = os.lstat(path)
        raise Refused(flaw_of_file(found) or "mode") from None


def lock(file, kind):
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        raise Again("locked") from None


def examine(path, file, expected, is_owner=True):
    """What is wrong with the open file, which must still be the one at the path. Gives an empty one its mode."""
    found = os.fstat(file)
    if flaw := flaw_of_file(found):
        raise Refused(flaw)
    try:
        there = os.lstat(path)
    except FileNotFoundError:
        raise Again("locked") from None
    if (there.st_dev, there.st_ino) != (found.st_dev, found.st_ino):
        raise Again("locked")
    if found.st_size == 0 and is_owner:
        os.fchmod(file, 0o600)
    return flaw_of_content(content(file), expected)


def content(file):
    parts, at = [], 0
    while part := os.pread(file, 1 << 20, at):
        parts.append(part)
        at += len(part)
    return b"".join(parts)


def read(path, expected=None):
    """The file as it is, or why not. Whoever expects nothing only looks, and opens it for reading alone."""
    try:
        file = opened(path, os.O_RDWR if expected else os.O_RDONLY)
    except FileNotFoundError:
        raise Refused("absent") from None
    try:
        lock(file, fcntl.LOCK_SH)
        if flaw := examine(path, file, expected, is_owner=False):
            raise Refused(flaw)
        with mmap.mmap(file, 0, mmap.MAP_SHARED, mmap.PROT_READ) as memory:
            return File([word for (word,) in WORD.iter_unpack(memory)])
    finally:
        os.close(file)


# Creating and replacing


def write(file, expected, secret, kill_at=None):
    """Fills an empty file. Dies before the step of that number, as a process may that is killed."""

    def step(number):
        if number == kill_at:
            os._exit(9)

    step(0)
    os.posix_fallocate(file, 0, file_bytes(expected.capacity, expected.key_bytes))
    step(1)
    os.pwrite(file, header(expected, secret, BEGUN), 0)
    step(2)
    os.pwrite(file, WORD.pack(WHOLE), 0)


def secret_bits():
    return [int.from_bytes(os.urandom(8), "little") for _ in range(2)]


def attempt(path, expected, secret, kill_at):
    """One turn: the open file, locked, and whether this process has just made it."""
    try:
        file = opened(path, os.O_RDWR)
    except FileNotFoundError:
        try:
            file = opened(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        except (FileExistsError, Refused):
            raise Again("locked") from None
        os.fchmod(file, 0o600)
    is_kept = False
    try:
        lock(file, fcntl.LOCK_SH)
        flaw = examine(path, file, expected)
        if flaw is None:
            is_kept = True
            return file, None
        if flaw not in AFRESH:
            raise Refused(flaw)
        fcntl.flock(file, fcntl.LOCK_UN)
        try:
            lock(file, fcntl.LOCK_EX)
        except Again:
            raise Again(flaw if flaw == "restart" else "locked") from None
        if examine(path, file, expected) != flaw:
            raise Again("locked")
        if flaw == "empty":
            write(file, expected, secret, kill_at)
            fcntl.flock(file, fcntl.LOCK_UN)
            return None, "created"
        os.unlink(path)
        return None, "removed"
    finally:
        if not is_kept:
            os.close(file)


def join(path, expected, secret=None, kill_at=None):
    """The file, open and locked, and whether this process made it."""
    begun, is_made = time.monotonic(), False
    while True:
        try:
            file, did = attempt(path, expected, secret or secret_bits(), kill_at)
            if file is not None:
                return file, is_made
            is_made = did == "created"
        except Again as why:
            if time.monotonic() - begun > 2:
                raise Refused(str(why)) from None
            time.sleep(0.001)
