"""A monitor: one descriptor to wait for, and the changes that are read when it is readable."""

from __future__ import annotations

import asyncio
import collections
import contextlib
import ctypes
import errno
import itertools
import os
import select
import threading
from types import TracebackType
from typing import (
    TYPE_CHECKING, AsyncGenerator, Callable, Deque, Iterable, Iterator, List, Mapping, Optional, Set, Tuple, Type, TypedDict, Union,
)

from ._library import ChangeCallback, NetwatchError, encoded, failure, library
from ._path import Path
from ._tasks import ReachableTasks

if TYPE_CHECKING:
    # A type checker knows this module even if it is not installed.
    from typing_extensions import Self, Unpack


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
    network_id: bool
    no_service: bool
    activity: Optional[str]
    activity_ignore: Union[str, Iterable[str]]
    activity_interval: Optional[float]
    activity_patience: Optional[float]
    probe: Optional[str]
    probe_expect: Optional[str]
    probe_interval: Optional[float]
    probe_timeout: Optional[float]
    stages: bool
    nudge: bool
    announced: bool
    cable: bool
    each: bool
    portal_api: bool
    quality: bool
    traffic: bool
    traffic_interval: Optional[float]
    signal: Optional[str]
    wifi_details: bool
    bssid: bool


class Monitor:
    """Watches the network. Use it in a `with` statement, or call `close()` when you no longer need it.

    A monitor has no thread of its own. `follow()` waits for changes; with asyncio, `paths()`, `wait_until()` and
    `while_reachable()` do. In a loop of your own, wait until `fileno()` is readable, then call `dispatch()`.

    Any thread may call any method; only one thread at a time should wait for changes, in which any number of asyncio tasks may
    wait. In a child made by `os.fork()`, which
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
        netwatch-rules(5) describes. `rules_fault` says what is wrong with them. A probe in them does not count. Default: False.
    interfaces: Whether to list every link in `Path.line`, and to report each change of this list. Default: False.
    network_id: Whether to recognize the network by an ID, for `Path.network_id` and the condition "network=ID". A change is also
        reported when the ID becomes known. Default: False.
    no_service: Whether to use no netwatch service, even if one runs. Default: False.
    activity: What counts as in flight: "requests", "tcp", "udp", "all", or several with commas between them. Default:
        "requests".
    activity_ignore: Ports, addresses or programs whose TCP connections and UDP traffic do not count. Default: none.
    activity_interval: The time in seconds between two looks at TCP connections. Default: 0.5.
    activity_patience: The time in seconds after which a waiting TCP connection is treated as a long poll, not as a request.
        Default: 30.
    probe: The URL that is asked whether the internet answers, for `Path.internet` and the condition "internet". For each probe, the
        library starts the program netwatch-http of the package netwatch. Default: none, and then it starts no process.
    probe_expect: The text with which the body of the answer has to begin. Default: none, the body has to be empty.
    probe_interval: The time in seconds between two probes. Default: 300.
    probe_timeout: The longest time in seconds to wait for an answer. Default: 10.
    stages: Whether to find the stage of the way to the internet that fails, for `Path.stage` and the conditions "stage=STAGE".
        Default: False.
    nudge: With `stages`, whether to send the gateway an empty datagram every 5 seconds while nothing else proves that it is alive.
        Default: False.
    announced: Whether to listen to what the network says about itself, for `Path.portal_api`. No packet is sent. Default: False.
    cable: Whether to ask the driver of the network card about its cable, for `Path.speed_mbps` and others. Default: False.
    each: Whether to judge each interface that could carry the traffic, for `Path.uplinks` and the condition "uplink=MEDIUM".
        Default: False.
    portal_api: Whether to ask the server that the network names whether a login is needed (RFC 8908), for `Path.captive_portal`. For
        each request, the library starts the program netwatch-http of the package netwatch. Default: False, and then nothing is asked.
    quality: Whether to measure the round-trip time and the loss, for `Path.rtt_ms` and `Path.loss_percent`. Default: False.
    traffic: Whether to report each second how much the link receives and sends, in `Path.rx_bps` and `Path.tx_bps`. Default: False.
    traffic_interval: With `traffic`, the time in seconds between two reports, at least 0.1. Default: 1.
    signal: Which changes of the WiFi signal are reported: "steps" or "dbm". Default: none.
    wifi_details: Whether `Path.line` also has the frequency and the bit rates of the WiFi network. Default: False.
    bssid: Whether `Path.line` also has the address of the access point, which reveals where you are. Default: False.

    Raises NetwatchError if the monitor cannot be opened, with the number `errno.EINVAL` for a value that makes no sense, and
    `errno.ENOENT` if netwatch-http is missing for `probe`.
    """

    def __init__(self, **options: Unpack[Options]) -> None:
        self._open(_texts_of(options))

    @classmethod
    def with_options(cls, options: Iterable[str]) -> Self:
        """Opens a monitor with options as text: "name=value". The names are those of the command's options without the dashes."""
        monitor = cls.__new__(cls)
        monitor._open(options)
        return monitor

    # Exists even if opening fails, for __del__.
    _handle: Optional[int] = None
    # The asyncio loop whose tasks wait for changes.
    _watch: Optional[_LoopWatch] = None

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
        # The changes that dispatch() has not returned yet: the line of each, and its description.
        self._lines: List[Tuple[bytes, bytes]] = []
        # Each call of the callback is `lines.append((netwatch_line(handle), netwatch_get(handle, b"description")))`, made from C
        # functions only. If it were Python code, a signal's handler could raise an exception in it, such as KeyboardInterrupt,
        # which ctypes would print and ignore.
        handles = itertools.repeat(self._handle)
        descriptions = map(library().netwatch_get, handles, itertools.repeat(b"description"))
        steps = map(self._lines.append, zip(map(library().netwatch_line, handles), descriptions))
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
            paths = [_path_of(*texts) for texts in self._lines]
            if paths:
                self._path = paths[-1]
            if self._watch is not None:
                self._watch.tell(paths, is_last=self._failure is not None)
            # Changes before the failure are returned first. The next call raises the failure.
            if error is not None and not paths:
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
        """Yields the state at once, then each change, until the monitor is closed. The asyncio loop runs meanwhile."""
        changes: Deque[Path] = collections.deque()
        wakes = asyncio.Event()

        def take(paths: List[Path]) -> None:
            changes.extend(paths)
            wakes.set()

        with self._listening(take):
            yield self.path
            while True:
                while changes:
                    yield changes.popleft()
                if self.closed:
                    return
                if self._failure is not None:
                    raise self._failure
                await wakes.wait()
                wakes.clear()

    @contextlib.contextmanager
    def _listening(self, listener: Callable[[List[Path]], None]) -> Iterator[None]:
        """Has the running asyncio loop read changes, and call `listener` with them; with none when no other change can come."""
        loop = asyncio.get_running_loop()
        if self._watch is not None and self._watch.loop.is_closed():
            self._watch.stop()
            self._watch = None
        if self._watch is None:
            self._watch = _LoopWatch(self, loop)
        watch = self._watch
        if watch.loop is not loop:
            raise RuntimeError("tasks of another asyncio loop already wait for this monitor; open one monitor for each loop")
        watch.listeners.append(listener)
        try:
            yield
        finally:
            watch.listeners.remove(listener)
            if not watch.listeners:
                watch.stop()
                if self._watch is watch:
                    self._watch = None

    def holds(self, *conditions: str) -> bool:
        """Whether all of these conditions hold for `path`. Without a condition: whether the target is reachable.

        The conditions are those of `netwatch --check --for`: "reachable", "not-reachable", "wifi", "wwan", "wired", "unmetered",
        "vpn", "not-vpn", "internet", "medium=MEDIUM", "ssid=NAME", "network=ID", "stage=STAGE", "uplink=MEDIUM". What is
        not known does not hold.

        Raises NetwatchError with the number `errno.EINVAL` if there is no such condition, or if it needs an option that the monitor
        was opened without: `probe` for "internet", "stage=dns" and "stage=internet", `stages` for "stage=STAGE", `network_id`
        for "network=ID", and `each` for "uplink=MEDIUM".
        """
        with self._lock_of_this_process():
            handle, all_hold = self._own_handle(), True
            for condition in conditions or ("reachable",):
                result: int = library().netwatch_holds(handle, encoded(condition))
                if result < 0:
                    raise failure(result)
                all_hold = all_hold and result == 1
            return all_hold

    async def wait_until(self, *conditions: str, timeout: Optional[float] = None) -> Path:
        """Waits until all of these conditions of `holds()` hold at the same time, and returns the path.

        timeout: The longest time to wait, in seconds. Default: None, no limit.

        Raises asyncio.TimeoutError if the time is over.
        """

        async def wait() -> Path:
            wakes = asyncio.Event()
            with self._listening(lambda paths: wakes.set()):
                while not self.holds(*conditions):
                    if self._failure is not None:
                        raise self._failure
                    await wakes.wait()
                    wakes.clear()
                return self.path

        self._turn()
        return self.path if self.holds(*conditions) else await asyncio.wait_for(wait(), timeout)

    def while_reachable(self) -> ReachableTasks:
        """Cancels the body of an `async with` statement, and the tasks that it starts, when the target is not reachable any more.

            async with monitor.while_reachable() as tasks:
                tasks.create_task(upload())
                await download()

        The statement then raises `NetworkLost`, also if the target is not reachable at its beginning. It ends when all its tasks
        have ended. If a task fails, the others and the body are cancelled, and the statement raises its exception.
        """
        return ReachableTasks(self)

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


class _LoopWatch:
    """Has an asyncio loop read the changes of a monitor, and tells them to the tasks that wait for them."""

    def __init__(self, monitor: Monitor, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.listeners: List[Callable[[List[Path]], None]] = []
        self._monitor = monitor
        with contextlib.ExitStack() as stack:
            for descriptor in stack.enter_context(monitor._waiting()):
                loop.add_reader(descriptor, self._read)
                stack.callback(loop.remove_reader, descriptor)
            self._stack = stack.pop_all()

    def _read(self) -> None:
        try:
            if self._monitor._turn() is not None and self._monitor._failure is None:
                return
        except NetwatchError:
            # The tasks that wait find it in the monitor.
            pass
        # The loop would find the pipe of a closed monitor readable again and again.
        self.stop()
        self.tell([], is_last=True)

    def tell(self, paths: List[Path], is_last: bool = False) -> None:
        """Tells changes to the tasks that wait now. May be called in any thread."""
        if paths or is_last:
            # If the loop is closed, nobody waits any more.
            with contextlib.suppress(RuntimeError):
                self.loop.call_soon_threadsafe(self._tell, tuple(self.listeners), paths)

    def _tell(self, listeners: Tuple[Callable[[List[Path]], None], ...], paths: List[Path]) -> None:
        for listener in listeners:
            if listener in self.listeners:
                listener(paths)

    def stop(self) -> None:
        """Leaves the loop. Nothing happens if it has left it already."""
        self._stack.close()


def _texts_of(options: Mapping[str, object]) -> List[str]:
    """Returns the options as the C library takes them: "name=value", or "name" for a flag."""
    texts: List[str] = []
    for name, value in options.items():
        if name not in Options.__optional_keys__:
            raise TypeError(f"Monitor() got an unexpected keyword argument {name!r}")
        word = name.replace("_", "-")
        if value is True:
            texts.append(word)
        elif isinstance(value, (str, int, float)):
            texts += [] if value is False else [f"{word}={value}"]
        elif value is not None:
            texts += [f"{word}={one}" for one in value]  # type: ignore[attr-defined]
    return texts


def _first_path(handle: int) -> Path:
    line: Optional[bytes] = library().netwatch_line(handle)
    if line is None:
        raise failure(-errno.EINVAL)
    return _path_of(line, library().netwatch_get(handle, b"description"))


def _path_of(line: bytes, description: bytes) -> Path:
    return Path.from_line(line.decode("utf-8", "replace"), description.decode("utf-8", "replace"))
