"""Is this machine (or a host) reachable, over what kind of link, and is the network in use?

    import libnetwatch

    for path in libnetwatch.follow():
        print(path)

`current()` returns the state now. `follow()` yields the state, then each change, and `paths()` does so for asyncio. `request()`
counts work as a request. A `Monitor` also judges conditions, waits for them, and cancels tasks when the network is lost.
"""

from __future__ import annotations

import contextlib
import select
import time
from typing import TYPE_CHECKING, AsyncGenerator, Iterator, Optional

from ._library import NetwatchError, library
from ._monitor import Monitor, Options
from ._path import CaptivePortal, Path, Status
from ._tasks import NetworkLost, ReachableTasks

if TYPE_CHECKING:
    # A type checker knows this module even if it is not installed.
    from typing_extensions import Unpack

__all__ = [
    "CaptivePortal", "Monitor", "NetwatchError", "NetworkLost", "Options", "Path", "ReachableTasks", "Status", "current", "follow", "paths",
    "request", "version",
]


def current(*, timeout: float = 5, **options: Unpack[Options]) -> Path:
    """Returns the state now.

    The state of the internet or of an address is known at once. If the target is the name of a host, this waits until the name
    is known, and returns a path with `Status.UNKNOWN` if it is not.

    timeout: The longest time to wait for the name of a host. Default: 5 seconds.
    options: The keyword arguments of `Monitor`.
    """
    with Monitor(**options) as monitor:
        poll = select.poll()
        poll.register(monitor.fileno(), select.POLLIN)
        deadline = time.monotonic() + timeout
        while monitor.path.status is Status.UNKNOWN:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                break
            poll.poll(remaining * 1000)
            monitor.dispatch()
        return monitor.path


def follow(**options: Unpack[Options]) -> Iterator[Path]:
    """Yields the state at once, then each change, and waits for the next one. Ctrl-C ends the wait with KeyboardInterrupt.

    options: The keyword arguments of `Monitor`.
    """
    with Monitor(**options) as monitor:
        yield from monitor.follow()


async def paths(**options: Unpack[Options]) -> AsyncGenerator[Path, None]:
    """Yields the state at once, then each change, and lets the asyncio loop run meanwhile.

    options: The keyword arguments of `Monitor`.
    """
    with Monitor(**options) as monitor:
        changes = monitor.paths()
        try:
            async for path in changes:
                yield path
        finally:
            await changes.aclose()


@contextlib.contextmanager
def request(label: Optional[str] = None, *, monitor: Optional[Monitor] = None) -> Iterator[None]:
    """Counts the body of a `with` statement as a request: something that this process waits for from the network.

    If a netwatch service runs, the request is reported to it, so that status bars and `netwatch --follow` show it.

    label: A short description of the request, for people. Default: none.
    monitor: The monitor that counts the request. Default: a monitor that is opened only for this request, which takes some
        milliseconds. Pass your own monitor if you begin requests often, or if `Path.visible` of your monitor has to show them.
    """
    if monitor is not None:
        with monitor.request(label):
            yield
        return
    with Monitor() as own:
        with own.request(label):
            own.dispatch()
            yield
        own.dispatch()


def version() -> str:
    """Returns the version of the C library, such as "0.1.0". Raises NetwatchError if the library cannot be loaded."""
    text: bytes = library().netwatch_version()
    return text.decode()
