"""Tries the installed package beside a cable that the commands `pull` and `plug-in` take away and bring back.

Prints a line for each expectation; the exit status is 1 if one is not met.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import itertools
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any, Callable, Iterator, List, Optional

import libnetwatch
from libnetwatch import Monitor, NetwatchError, Path, Status

PATIENCE = 30
failed = False


def expect(what: str, is_so: Callable[[], Any]) -> None:
    global failed
    why = ""
    try:
        met = is_so()
    except Exception as error:
        met, why = False, f": {error!r}"
    print(f"  ok      {what}" if met else f"  FAILED  {what}{why}", file=sys.stderr)
    failed = failed or not met


def raised(call: Callable[[], Any]) -> Optional[Exception]:
    try:
        call()
    except Exception as error:
        return error
    return None


def until(paths: Iterator[Path], reason: str) -> Path:
    """The next path with this reason."""
    return next(path for path in paths if path.reason == reason)


def descriptors() -> List[str]:
    gc.collect()
    return sorted(os.listdir("/proc/self/fd"))


def check_state() -> None:
    path = libnetwatch.current()
    expect("current(): is reachable over the cable", lambda: path.status is Status.WIFI and path.interface == "enp1s0")
    expect("current(): has its addresses", lambda: path.ipv4 == "192.168.1.23" and path.gateway4 == "192.168.1.1")
    expect("current(): lacks the rest", lambda: path.ipv6 is path.gateway6 is path.vpn is path.ssid is None)
    expect("current(): has a price", lambda: path.expensive is False and path.reachable)
    expect("Path.event: is the line", lambda: path.event["reachability"]["interface"] == "enp1s0" and path.event is path.event)
    expect("Path: is frozen", lambda: isinstance(raised(lambda: setattr(path, "status", 0)), AttributeError))
    expect("Path: equals another one, and has a hash", lambda: path == libnetwatch.current() and hash(path))
    expect("Status: has the numbers of AFNetworking", lambda: [int(status) for status in Status] == [-1, 0, 1, 2])
    lost = libnetwatch.current(ignore=["wl*", "enp*"])
    expect("options: a list of patterns", lambda: lost.status is Status.NOT_REACHABLE and lost.reason == "no_route")
    expect("options: one pattern", lambda: libnetwatch.current(ignore="enp*").interface is None)
    expect("options: a flag", lambda: "interfaces" in libnetwatch.current(interfaces=True).event)
    expect("options: an address", lambda: libnetwatch.current(target="192.168.1.1").gateway4 is None)
    expect("version(): is a text", lambda: "." in libnetwatch.version())


def check_errors() -> None:
    error = raised(lambda: libnetwatch.current(hold=float("nan")))
    expect("errors: a value that makes no sense", lambda: isinstance(error, NetwatchError) and error.errno == errno.EINVAL)
    expect("errors: have a sentence", lambda: "hold" in getattr(error, "strerror", ""))
    unknown = raised(lambda: Monitor.with_options(["colour=red"]))
    expect("errors: an option that does not exist", lambda: isinstance(unknown, NetwatchError) and "colour" in str(unknown))
    expect("errors: a keyword that does not exist", lambda: isinstance(raised(lambda: Monitor(colour="red")), TypeError))  # type: ignore[call-arg]
    expect("errors: a null character", lambda: isinstance(raised(lambda: Monitor(target="a\0b")), ValueError))
    monitor = Monitor()
    monitor.close()
    monitor.close()
    for name in ("dispatch", "fileno", "request"):
        call = getattr(monitor, name)
        expect(f"errors: {name}() after close()", lambda: isinstance(raised(lambda: call().__enter__()), ValueError))
    expect("errors: path after close()", lambda: monitor.closed and isinstance(raised(lambda: monitor.path), ValueError))


def check_follow() -> None:
    with Monitor() as monitor:
        paths = monitor.follow()
        expect("follow(): gives the state at once", lambda: next(paths).reason == "initial")
        subprocess.run(["pull"], check=True)
        expect("follow(): the cable is pulled", lambda: until(paths, "no_carrier").status is Status.NOT_REACHABLE)
        expect("path: is the last one", lambda: monitor.path.reason == "no_carrier")
        subprocess.run(["plug-in"], check=True)
        expect("follow(): the cable is back", lambda: until(paths, "route_up").interface == "enp1s0")
        paths.close()  # type: ignore[attr-defined]
        expect("dispatch(): has nothing to say", lambda: monitor.dispatch() == [])


def check_asyncio() -> None:
    async def reasons() -> List[str]:
        told = []
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.001)
                ticks += 1

        beside = asyncio.ensure_future(tick())
        async for path in libnetwatch.paths():
            if path.reason == "initial":
                pulled = await asyncio.create_subprocess_exec("pull")
                await pulled.wait()
            elif path.reason == "no_carrier":
                plugged = await asyncio.create_subprocess_exec("plug-in")
                await plugged.wait()
            told.append(path.reason)
            if path.reason == "route_up":
                break
        beside.cancel()
        return told if ticks else []

    expect("paths(): the cable is pulled and is back", lambda: asyncio.run(asyncio.wait_for(reasons(), PATIENCE)) == ["initial", "no_carrier", "route_up"])

    async def cancelled() -> bool:
        async def wait() -> None:
            async for _ in libnetwatch.paths():
                pass

        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        waiting.cancel()
        try:
            await waiting
        except asyncio.CancelledError:
            return True
        return False

    expect("paths(): can be cancelled", lambda: asyncio.run(asyncio.wait_for(cancelled(), PATIENCE)))

    async def closed() -> bool:
        monitor = Monitor()
        async for _ in monitor.paths():
            asyncio.get_running_loop().call_soon(monitor.close)
        return True

    expect("paths(): ends with its monitor", lambda: asyncio.run(asyncio.wait_for(closed(), PATIENCE)))


def check_requests() -> None:
    with Monitor() as monitor:
        paths = monitor.follow()
        next(paths)
        with monitor.request("upload"):
            expect("request(): is in flight", lambda: until(paths, "request_began").in_flight == 1)
            expect("request(): is visible after its delay", lambda: until(paths, "activation_delay").visible)
        expect("request(): is hidden after its delay", lambda: not until(paths, "completion_delay").visible)
        with libnetwatch.request(monitor=monitor):
            expect("request(monitor=…): is in flight", lambda: until(paths, "request_began").in_flight == 1)
        expect("request(monitor=…): has ended", lambda: until(paths, "request_ended").in_flight == 0)

        def many() -> None:
            for _ in range(200):
                with monitor.request("many"):
                    pass

        threads = [threading.Thread(target=many) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with monitor.request("last"):
            expect("request(): from many threads", lambda: next(path for path in paths if path.in_flight == 1))
        error = raised(lambda: failing_request(monitor))
        expect("request(): ends with an exception, which goes on", lambda: isinstance(error, ZeroDivisionError))
        expect("request(): a null character", lambda: isinstance(raised(lambda: monitor.request("a\0b").__enter__()), ValueError))
        with monitor.request("closed within"):
            monitor.close()
    with libnetwatch.request("alone"):
        pass
    expect("request(): with a monitor of its own", lambda: True)


def failing_request(monitor: Monitor) -> None:
    with monitor.request("failing"):
        raise ZeroDivisionError


def check_threads() -> None:
    monitor = Monitor()
    told: List[Path] = []
    has_begun = threading.Event()

    def run() -> None:
        for path in monitor.follow():
            told.append(path)
            has_begun.set()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    has_begun.wait(PATIENCE)
    monitor.close()
    thread.join(PATIENCE)
    expect("close(): ends follow() in another thread", lambda: not thread.is_alive() and len(told) == 1)


def in_child(monitor: Monitor, answers: Any) -> None:
    numbers = []
    for call in (monitor.fileno, monitor.dispatch, lambda: monitor.path, lambda: monitor.request("child").__enter__()):
        error = raised(call)
        numbers.append(error.errno if isinstance(error, NetwatchError) else repr(error))
    monitor.close()
    answers.put((numbers, libnetwatch.current().interface))


def check_fork() -> None:
    monitor = Monitor()
    paths = monitor.follow()
    next(paths)
    fork = multiprocessing.get_context("fork")
    answers = fork.SimpleQueue()
    # One thread holds the lock while another one forks, as a thread within dispatch() would.
    with monitor.request("parent's"):
        child = fork.Process(target=in_child, args=(monitor, answers))
        child.start()
        child.join(PATIENCE)
        expect("fork: the child ends", lambda: child.exitcode == 0)
        if child.exitcode == 0:
            numbers, interface = answers.get()
            expect("fork: the parent's monitor is dead in the child", lambda: numbers == [errno.ECHILD] * 4)
            expect("fork: the child has a monitor of its own", lambda: interface == "enp1s0")
    subprocess.run(["pull"], check=True)
    expect("fork: the parent is told that the cable is pulled", lambda: until(paths, "no_carrier"))
    subprocess.run(["plug-in"], check=True)
    expect("fork: the parent is told that the cable is back", lambda: until(paths, "route_up"))
    paths.close()  # type: ignore[attr-defined]
    monitor.close()


class Interrupted(BaseException):
    pass


def check_signals() -> None:
    def interrupt(number: int, frame: Any) -> None:
        raise Interrupted

    previous = signal.signal(signal.SIGALRM, interrupt)
    began = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        for _ in libnetwatch.follow():
            pass
        ended = False
    except Interrupted:
        ended = True
    expect("follow(): ends at once when a signal's handler raises", lambda: ended and time.monotonic() - began < 5)

    # The exception of a signal handler must arrive wherever the handler runs, even within the library.
    arrived = 0
    # An exception in Python code that the garbage collector runs would only be printed, so the collector is switched
    # off.
    gc.collect()
    gc.disable()
    with Monitor() as monitor:
        for delay in itertools.islice(itertools.count(1), 500):
            try:
                signal.setitimer(signal.ITIMER_REAL, delay * 2e-6)
                end = time.monotonic() + PATIENCE
                while time.monotonic() < end:
                    with monitor.request():
                        monitor.dispatch()
                    monitor.dispatch()
            except Interrupted:
                arrived += 1
        gc.enable()
        signal.signal(signal.SIGALRM, previous)
        expect("dispatch(): no exception of a handler is lost", lambda: arrived == 500)
        expect("dispatch(): goes on afterwards", lambda: monitor.dispatch() is not None and monitor.path.interface == "enp1s0")


def check_descriptors() -> None:
    before = descriptors()
    for _ in range(20):
        with Monitor() as monitor:
            next(monitor.follow())
        with libnetwatch.request("a"):
            libnetwatch.current()
        raised(lambda: Monitor(hold=-1))
        Monitor()
    expect("descriptors: none is left open", lambda: descriptors() == before)


check_state()
check_errors()
check_follow()
check_asyncio()
check_requests()
check_threads()
check_fork()
check_signals()
check_descriptors()
sys.exit(failed)
