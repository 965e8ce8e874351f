"""A monitor: one descriptor to wait for, and the changes that are read when it is readable."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import itertools
import os
import select
import threading
from types import TracebackType
from typing import TYPE_CHECKING, AsyncGenerator, Iterable, Iterator, List, Optional, Set, Tuple, Type, TypedDict, Union

from ._library import ChangeCallback, NetwatchError, encoded, failure, library
from ._path import Path

if TYPE_CHECKING:
    # A type checker knows this module even if it is not installed.
    from typing_extensions import Self


class Options(TypedDict, total=False):
    """The keyword arguments of `Monitor`, `current()`, `follow()` and `paths()`. `Monitor` describes them."""

    target: Optional[str]
    interface: Union[str, Iterable[str]]
    ignore: Union[str, Iterable[str]]
    wwan: Union[str, Iterable[str]]
    tunnel: Union[str, Iterable[str]]
    expensive: Union[str, Iterable[str]]
    not_expensive: Union[str, Iterable[str]]
    hold: Optional[float]
    link_local: bool
    rules: bool
    interfaces: bool
    no_service: bool
    activity: Optional[str]
    activity_ignore: Union[str, Iterable[str]]
    activity_interval: Optional[float]
    activity_patience: Optional[float]


class Monitor:
    """Watches the network. Use it in a `with` statement, or call `close()` when you no longer need it.

    A monitor has no thread of its own. `follow()` and `paths()` wait for changes. In a loop of your own, wait until
    `fileno()` is readable, then call `dispatch()`.

    Any thread may call any method; only one thread at a time should wait for changes. In a child made by `os.fork()`, which
    `multiprocessing` may use, every method except `close()` raises `NetwatchError` with the number `errno.ECHILD`. The parent's
    monitor is not affected, and the child may open a monitor of its own.

    The arguments are options of the command `netwatch`:

    target: The address, host or "host:port" to reach. Default: the internet.
    interface: A pattern, or patterns, for the names of links. Only these links count as ways out. Default: all links.
    ignore: A pattern, or patterns, for links to treat as if they did not exist.
    wwan: A pattern, or patterns, for links to treat as cellular.
    tunnel: A pattern, or patterns, for links to treat as tunnels.
    expensive: A pattern, or patterns, for links, or for their WiFi networks, whose use may cost money.
    not_expensive: A pattern, or patterns, for links, or for their WiFi networks, that cost nothing. Wins over everything else.
    hold: The time in seconds that a loss must last before it is reported. Default: 0.
    link_local: Whether an IPv4 address of 169.254.0.0/16 is accepted as usable. Default: False.
    rules: Whether the files of rules count, as for the command: /etc/netwatch/rules and ~/.config/netwatch/rules, which
        netwatch-rules(5) describes. `rules_fault` says what is wrong with them. Default: False.
    interfaces: Whether to list every link in `Path.line`, and to report each change of this list. Default: False.
    no_service: Whether to use no netwatch service, even if one runs. Default: False.
    activity: What counts as in flight: "requests", "tcp", "udp", "all", or several with commas between them. Default:
        "requests".
    activity_ignore: Ports, addresses or programs whose TCP connections and UDP traffic do not count. Default: none.
    activity_interval: The time in seconds between two looks at TCP connections. Default: 0.5.
    activity_patience: The time in seconds after which a waiting TCP connection is treated as a long poll, not as a request.
        Default: 30.

    Raises NetwatchError if the monitor cannot be opened, with the number `errno.EINVAL` for a value that makes no sense.
    """

    def __init__(
        self,
        *,
        target: Optional[str] = None,
        interface: Union[str, Iterable[str]] = (),
        ignore: Union[str, Iterable[str]] = (),
        wwan: Union[str, Iterable[str]] = (),
        tunnel: Union[str, Iterable[str]] = (),
        expensive: Union[str, Iterable[str]] = (),
        not_expensive: Union[str, Iterable[str]] = (),
        hold: Optional[float] = None,
        link_local: bool = False,
        rules: bool = False,
        interfaces: bool = False,
        no_service: bool = False,
        activity: Optional[str] = None,
        activity_ignore: Union[str, Iterable[str]] = (),
        activity_interval: Optional[float] = None,
        activity_patience: Optional[float] = None,
    ) -> None:
        options: List[str] = []
        for name, value in (
            ("target", target),
            ("hold", hold),
            ("activity", activity),
            ("activity-interval", activity_interval),
            ("activity-patience", activity_patience),
        ):
            if value is not None:
                options.append(f"{name}={value}")
        for name, values in (
            ("interface", interface),
            ("ignore", ignore),
            ("wwan", wwan),
            ("tunnel", tunnel),
            ("expensive", expensive),
            ("not-expensive", not_expensive),
            ("activity-ignore", activity_ignore),
        ):
            options += [f"{name}={value}" for value in ([values] if isinstance(values, str) else values)]
        for name, is_wanted in (
            ("link-local", link_local),
            ("rules", rules),
            ("interfaces", interfaces),
            ("no-service", no_service),
        ):
            if is_wanted:
                options.append(name)
        self._open(options)

    @classmethod
    def with_options(cls, options: Iterable[str]) -> Self:
        """Opens a monitor with options as text: "name=value". The names are those of the command's options without the dashes."""
        monitor = cls.__new__(cls)
        monitor._open(options)
        return monitor

    # Exists even if opening fails, for __del__.
    _handle: Optional[int] = None

    def _open(self, options: Iterable[str]) -> None:
        self._process = os.getpid()
        # A thread holds the lock while it uses the handle, but never while it waits for the network.
        self._lock = threading.RLock()
        # The writing ends of the pipes through which close() wakes the threads and tasks that wait for changes.
        self._wakers: Set[int] = set()
        self._failure: Optional[NetwatchError] = None
        texts = [encoded(option) for option in options]
        handle = ctypes.c_void_p()
        result = library().netwatch_open((ctypes.c_char_p * (len(texts) + 1))(*texts, None), ctypes.byref(handle))
        if result < 0 or handle.value is None:
            raise failure(result)
        self._handle = handle.value
        # The lines of changes that dispatch() has not returned yet.
        self._lines: List[bytes] = []
        # Each call of the callback is `lines.append(netwatch_line(handle))`, made from C functions only. If it were Python code,
        # a signal's handler could raise an exception in it, such as KeyboardInterrupt, which ctypes would print and ignore.
        steps = map(self._lines.append, map(library().netwatch_line, itertools.repeat(self._handle)))
        # The library keeps a pointer to it, so it must exist as long as the handle.
        self._callback = ChangeCallback(steps.__next__)
        library().netwatch_on_change(self._handle, self._callback, None)
        self._path = _first_path(self._handle)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        exception: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self._handle is not None:
            self.close()

    def _own_handle(self) -> int:
        """The handle. Raises ValueError if the monitor is closed, and NetwatchError in a forked child."""
        if self._handle is None:
            raise ValueError("the monitor is closed")
        if self._process != os.getpid():
            raise NetwatchError(errno.ECHILD, "the monitor belongs to the parent process; open another one after a fork")
        return self._handle

    def close(self) -> None:
        """Closes the monitor and ends its requests. `follow()` and `paths()` then end, also in other threads.

        If the monitor is already closed, this does nothing.
        """
        if self._process != os.getpid():
            # Another thread of the parent may have held the lock during the fork, and the pipes are shared with the parent.
            handle, self._handle = self._handle, None
            library().netwatch_close(handle)
            return
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                library().netwatch_close(handle)
                for waker in self._wakers:
                    os.write(waker, b"\0")

    @property
    def closed(self) -> bool:
        """Whether `close()` was called."""
        return self._handle is None

    @property
    def path(self) -> Path:
        """The state at the last `dispatch()`, or when the monitor was opened."""
        self._own_handle()
        return self._path

    @property
    def rules_fault(self) -> Optional[str]:
        """A sentence about the first line of the files of rules that is not understood, or the first file that is not trusted.

        None if there is none, or if the monitor was opened without `rules`.
        """
        with self._lock_of_this_process():
            text: Optional[bytes] = library().netwatch_get(self._own_handle(), b"rules_fault")
            return None if text is None else text.decode("utf-8", "replace")

    def fileno(self) -> int:
        """Returns the descriptor, which is readable when `dispatch()` has something to do. Do not read from it or close it."""
        with self._lock_of_this_process():
            result: int = library().netwatch_fd(self._own_handle())
            if result < 0:
                raise failure(result)
            return result

    def dispatch(self) -> List[Path]:
        """Reads what is there without waiting, and returns a path for each change, the oldest one first.

        Raises NetwatchError if the kernel's messages are lost for good.
        """
        with self._lock_of_this_process():
            handle = self._own_handle()
            if self._failure is not None:
                raise self._failure
            result: int = library().netwatch_dispatch(handle)
            error = failure(result) if result < 0 else None
            if result == -errno.ENOLINK:
                self._failure = error
            paths = [_path_of(line) for line in self._lines]
            if paths:
                self._path = paths[-1]
            # Changes before the failure are returned first. The next call raises the failure.
            elif error is not None:
                raise error
            self._lines.clear()
            return paths

    def _lock_of_this_process(self) -> threading.RLock:
        """Returns the lock. Raises as `_own_handle()` does, so that a child does not wait for a thread that only its parent has."""
        self._own_handle()
        return self._lock

    def _turn(self) -> Optional[List[Path]]:
        """Returns a path for each change, as `dispatch()` does, or None if the monitor is closed."""
        with self._lock:
            return None if self._handle is None else self.dispatch()

    @contextlib.contextmanager
    def _waiting(self) -> Iterator[Tuple[int, int]]:
        """Gives two descriptors: one is readable when there is something to dispatch, the other when the monitor is closed.

        The first one is a copy, so its number cannot become that of another file when the monitor is closed.
        """
        with contextlib.ExitStack() as stack:
            changed = os.dup(self.fileno())
            stack.callback(os.close, changed)
            closed, waker = os.pipe()
            stack.callback(os.close, closed)
            stack.callback(os.close, waker)
            with self._lock_of_this_process():
                self._wakers.add(waker)
            try:
                yield changed, closed
            finally:
                with self._lock:
                    self._wakers.discard(waker)

    def follow(self) -> Iterator[Path]:
        """Yields the state at once, then each change, and waits for the next one, until the monitor is closed.

        Ctrl-C ends the wait with KeyboardInterrupt.
        """
        with self._waiting() as descriptors:
            poll = select.poll()
            for descriptor in descriptors:
                poll.register(descriptor, select.POLLIN)
            yield self.path
            while True:
                paths = self._turn()
                if paths is None:
                    return
                yield from paths
                if self._failure is None:
                    poll.poll()

    async def paths(self) -> AsyncGenerator[Path, None]:
        """Yields the state at once, then each change, until the monitor is closed. The asyncio loop runs meanwhile.
        """
        loop = asyncio.get_running_loop()
        with self._waiting() as descriptors:
            yield self.path
            while True:
                paths = self._turn()
                if paths is None:
                    return
                for path in paths:
                    yield path
                if self._failure is None:
                    await _readable(loop, descriptors)

    @contextlib.contextmanager
    def request(self, label: Optional[str] = None) -> Iterator[None]:
        """Counts the body of a `with` statement as a request: something that this process waits for from the network.

        The activity indicator, `Path.visible`, is shown one second after the first request has begun, if one runs then, and hidden
        0.17 seconds after the last one has ended. If a netwatch service runs, the request is reported to it.

        label: A short description of the request, for people. Default: none.
        """
        text = None if label is None else encoded(label)
        with self._lock_of_this_process():
            number: int = library().netwatch_begin(self._own_handle(), text)
            if number == 0:
                raise failure(-errno.EINVAL)
        try:
            yield
        finally:
            # In a child that was forked meanwhile, the request belongs to the parent.
            if self._process == os.getpid():
                with self._lock:
                    if self._handle is not None:
                        library().netwatch_end(self._handle, number)


def _first_path(handle: int) -> Path:
    line: Optional[bytes] = library().netwatch_line(handle)
    if line is None:
        raise failure(-errno.EINVAL)
    return _path_of(line)


def _path_of(line: bytes) -> Path:
    return Path.from_line(line.decode("utf-8", "replace"))


async def _readable(loop: asyncio.AbstractEventLoop, descriptors: Tuple[int, ...]) -> None:
    """Waits until one of the descriptors is readable."""
    ready: asyncio.Future[None] = loop.create_future()

    def is_ready() -> None:
        if not ready.done():
            ready.set_result(None)

    # The loop watches them only during the wait: otherwise it would call is_ready() again and again while a path is used.
    for descriptor in descriptors:
        loop.add_reader(descriptor, is_ready)
    try:
        await ready
    finally:
        for descriptor in descriptors:
            loop.remove_reader(descriptor)
