"""Finds the C library and declares its functions as in netwatch.h."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path as FilePath
from typing import Iterator, Optional

# The C library passes a handle and a context, which this callback does not use.
ChangeCallback = ctypes.CFUNCTYPE(None)


class NetwatchError(OSError):
    """A call of the C library that failed.

    `errno` is the number of the error, such as `errno.EINVAL` for an option that does not exist. `strerror` is a sentence about
    the failure.
    """


def _candidates() -> Iterator[str]:
    """Yields the places of the library in their order: only NETWATCH_LIBRARY if it is set; else the wheel's copy, the system's."""
    override = os.environ.get("NETWATCH_LIBRARY")
    if override:
        yield override
        return
    bundled = FilePath(__file__).parent / "libnetwatch.so.1"
    if bundled.exists():
        yield str(bundled)
    yield "libnetwatch.so.1"


@functools.lru_cache(maxsize=None)
def library() -> ctypes.CDLL:
    """Returns the C library, which is loaded at the first call. Raises NetwatchError if it cannot be loaded."""
    problems = []
    for candidate in _candidates():
        try:
            return _declared(ctypes.CDLL(candidate))
        except (OSError, AttributeError) as error:
            problems.append(str(error))
    advice = "install libnetwatch1 or the wheel of contrib/bindings/python/build, or set NETWATCH_LIBRARY to its file"
    raise NetwatchError(2, f"the C library is missing ({'; '.join(problems)}); {advice}")


def _declared(loaded: ctypes.CDLL) -> ctypes.CDLL:
    text, handle, request = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_uint64
    out = ctypes.POINTER(ctypes.c_void_p)
    for name, result, arguments in (
        ("netwatch_open", ctypes.c_int, [ctypes.POINTER(text), out]),
        ("netwatch_close", None, [handle]),
        ("netwatch_fd", ctypes.c_int, [handle]),
        ("netwatch_dispatch", ctypes.c_int, [handle]),
        ("netwatch_on_change", None, [handle, ChangeCallback, ctypes.c_void_p]),
        ("netwatch_get", text, [handle, text]),
        ("netwatch_holds", ctypes.c_int, [handle, text]),
        ("netwatch_line", text, [handle]),
        ("netwatch_begin", request, [handle, text]),
        ("netwatch_end", None, [handle, request]),
        ("netwatch_error_text", text, []),
        ("netwatch_version", text, []),
    ):
        function = getattr(loaded, name)
        function.restype = result
        function.argtypes = arguments
    return loaded


def failure(number: int) -> NetwatchError:
    """Returns the error for a negative errno value that a function of the library has just returned in this thread."""
    text: Optional[bytes] = library().netwatch_error_text()
    return NetwatchError(-number, text.decode("utf-8", "replace") if text else os.strerror(-number))


def encoded(text: str) -> bytes:
    """Returns the bytes of a text for C. Raises ValueError if the text has a null character, because C would cut it there."""
    if "\0" in text:
        raise ValueError(f"{text!r} contains a null character")
    return text.encode("utf-8", "surrogateescape")
