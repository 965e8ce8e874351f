"""Tries the installed package beside a cable that the commands `pull` and `plug-in` take away and bring back.

The command `in-router` runs another command at the other end of the cable. Prints a line for each expectation; the exit status is 1 if one is not met.
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
from typing import Any, Callable, Iterator, List, Optional, Tuple

import libnetwatch
from libnetwatch import Monitor, NetwatchError, NetworkLost, Path, Status

PATIENCE = 30
# How often the cable is pulled to measure when work ends, and the longest time that this may take in 99 of 100 cases.
ROUNDS = 100
MOST_SECONDS = 0.05
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
    expect("Status: its text is its name", lambda: [str(status) for status in Status] == ["UNKNOWN", "NOT_REACHABLE", "WWAN", "WIFI"])
    expect("Status: its name is in formatted texts", lambda: f"{path.status} {path.status:>5} %s" % path.status == "WIFI  WIFI WIFI")
    expect("Path: is said in words", lambda: str(path) == f"{path.medium} enp1s0, 192.168.1.23" and f"{path}" == str(path))
    expect("Path: of a line that no monitor has told", lambda: str(Path.from_line(path.line)) == "WIFI: initial")
    lost = libnetwatch.current(ignore=["wl*", "enp*"])
    expect("options: a list of patterns", lambda: lost.status is Status.NOT_REACHABLE and lost.reason == "no_route")
    expect("Path: a loss is said in words", lambda: str(lost) == "not reachable: no route")
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
    for name in ("dispatch", "fileno", "request", "holds"):
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


def check_conditions() -> None:
    with Monitor() as monitor:
        expect("holds(): one condition", lambda: monitor.holds("reachable") is True and monitor.holds("wwan") is False)
        expect("holds(): several", lambda: monitor.holds("wifi", f"medium={monitor.path.medium}", "not-vpn"))
        expect("holds(): one of several does not", lambda: not monitor.holds("wifi", "vpn"))
        expect("holds(): none, whether the target is reachable", lambda: monitor.holds())
        error = raised(lambda: monitor.holds("vpn", "colour"))
        expect("holds(): no such condition", lambda: isinstance(error, NetwatchError) and error.errno == errno.EINVAL and "colour" in str(error))
        error = raised(lambda: monitor.holds("stage=link"))
        expect("holds(): lacks an option", lambda: isinstance(error, NetwatchError) and "stages" in str(error))

        async def wait() -> List[Any]:
            now = await monitor.wait_until("reachable", timeout=0)
            try:
                await monitor.wait_until("vpn", timeout=0.05)
                late = False
            except asyncio.TimeoutError:
                late = True
            subprocess.run(["pull"], check=True)
            lost = await monitor.wait_until("not-reachable", timeout=PATIENCE)
            subprocess.run(["plug-in"], check=True)
            back, again = await asyncio.gather(
                monitor.wait_until("reachable", "wifi", timeout=PATIENCE), monitor.wait_until("reachable", timeout=PATIENCE)
            )
            return [now.reachable, late, lost.reason, back.reachable, again.reachable]

        expect("wait_until(): waits", lambda: asyncio.run(wait()) == [True, True, "no_carrier", True, True])
    with Monitor(stages=True, traffic=True, traffic_interval=0.1, quality=True) as monitor:
        paths = monitor.follow()
        measured = next(path for path in paths if path.rx_bps is not None)
        expect("traffic: has rates", lambda: isinstance(measured.tx_bps, int))
        expect("stages: the link works", lambda: monitor.holds("stage=link") and measured.stage is None)
        paths.close()  # type: ignore[attr-defined]


class Cable:
    """Pulls the cable without the time that it takes to start a program."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(["in-router", "ip", "-batch", "-"], stdin=subprocess.PIPE)

    def _write(self, text: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()

    def pull(self) -> None:
        self._write(b"link set cable down\n")

    def plug_in(self) -> None:
        self._write(b"link set cable up\n")

    def close(self) -> None:
        self.plug_in()
        self.process.communicate()


async def fetch(is_sent: asyncio.Event) -> None:
    """A request to a server that never answers."""
    reader, writer = await asyncio.open_connection("192.168.1.1", 8080)
    try:
        writer.write(b"GET / HTTP/1.1\r\nHost: router\r\n\r\n")
        await writer.drain()
        is_sent.set()
        await reader.read()
    finally:
        writer.close()


def check_loss() -> None:
    program = "import socket, time; s = socket.create_server(('192.168.1.1', 8080), backlog=256); print(flush=True); time.sleep(600)"
    server = subprocess.Popen(["in-router", sys.executable, "-c", program], stdout=subprocess.PIPE)
    assert server.stdout is not None
    server.stdout.readline()
    cable = Cable()

    async def one(monitor: Monitor) -> float:
        is_sent = asyncio.Event()
        await monitor.wait_until("reachable", timeout=PATIENCE)
        began = time.monotonic()
        request = None
        try:
            async with monitor.while_reachable() as tasks:
                request = tasks.create_task(fetch(is_sent))
                await is_sent.wait()
                await asyncio.sleep(0.02)
                began = time.monotonic()
                cable.pull()
                await asyncio.sleep(PATIENCE)
        except NetworkLost as loss:
            took = time.monotonic() - began
            assert loss.path.reason == "no_carrier" and loss.errno == errno.ENETUNREACH and str(loss.path) in str(loss)
            assert request is not None and request.cancelled()
            return took
        finally:
            cable.plug_in()
        raise AssertionError("the network was not lost")

    async def all_rounds() -> List[float]:
        with Monitor() as monitor:
            return sorted([await one(monitor) for _ in range(ROUNDS)])

    def percentiles() -> Tuple[float, float]:
        times = asyncio.run(all_rounds())
        return times[len(times) // 2], times[len(times) * 99 // 100 - 1]

    # Other programs may need the processor meanwhile, so there are three tries.
    middle = most = 0.0
    for _ in range(3):
        middle, most = percentiles()
        if most <= MOST_SECONDS:
            break
    what = f"while_reachable(): a request ends when the cable is pulled, {ROUNDS} times within {MOST_SECONDS * 1000:.0f} ms"
    expect(f"{what} (p50 {middle * 1000:.1f} ms, p99 {most * 1000:.1f} ms)", lambda: most <= MOST_SECONDS)

    async def without() -> bool:
        is_sent = asyncio.Event()
        request = asyncio.ensure_future(fetch(is_sent))
        await asyncio.wait_for(is_sent.wait(), PATIENCE)
        cable.pull()
        await asyncio.sleep(0.5)
        goes_on = not request.done()
        cable.plug_in()
        request.cancel()
        await asyncio.wait([request])
        return goes_on

    def is_back() -> bool:
        with Monitor() as monitor:
            return bool(asyncio.run(monitor.wait_until("reachable", timeout=PATIENCE)))

    is_back()
    expect("while_reachable(): without it, the request would go on", lambda: asyncio.run(without()))
    is_back()

    async def side_by_side() -> List[str]:
        with Monitor() as monitor:
            told: List[str] = []

            async def follow() -> None:
                async for path in monitor.paths():
                    told.append(path.reason)

            async def work() -> None:
                try:
                    async with monitor.while_reachable():
                        await asyncio.sleep(PATIENCE)
                except NetworkLost:
                    told.append("lost")

            tasks = [asyncio.ensure_future(body) for body in (follow(), follow(), work(), work())]
            await asyncio.sleep(0.05)
            cable.pull()
            await monitor.wait_until("not-reachable", timeout=PATIENCE)
            await asyncio.sleep(0.05)
            cable.plug_in()
            await monitor.wait_until("reachable", timeout=PATIENCE)
            await asyncio.sleep(0.05)
            monitor.close()
            await asyncio.wait(tasks, timeout=PATIENCE)
            return sorted(told)

    wanted = sorted(2 * ["initial", "no_carrier", "route_up", "lost"])
    expect("while_reachable(), paths(): each task is told", lambda: asyncio.run(side_by_side()) == wanted)
    cable.close()
    server.kill()
    server.communicate()


def check_tasks() -> None:
    """What while_reachable() does while the network stays."""

    async def body_ends(monitor: Monitor) -> bool:
        async with monitor.while_reachable() as tasks:
            task = tasks.create_task(asyncio.sleep(0.05, "done"))
        return task.result() == "done"

    async def body_fails(monitor: Monitor) -> bool:
        try:
            async with monitor.while_reachable() as tasks:
                task = tasks.create_task(asyncio.sleep(PATIENCE))
                await asyncio.sleep(0)
                raise ZeroDivisionError
        except ZeroDivisionError:
            return task.cancelled()

    async def task_fails(monitor: Monitor) -> bool:
        async def fail() -> None:
            raise ZeroDivisionError

        try:
            async with monitor.while_reachable() as tasks:
                other = tasks.create_task(asyncio.sleep(PATIENCE))
                tasks.create_task(fail())
                await asyncio.sleep(PATIENCE)
        except ZeroDivisionError:
            return other.cancelled()
        return False

    async def cancelled(monitor: Monitor) -> bool:
        async def work() -> None:
            async with monitor.while_reachable() as tasks:
                tasks.create_task(asyncio.sleep(PATIENCE))
                await asyncio.sleep(PATIENCE)

        before = len(asyncio.all_tasks())
        try:
            await asyncio.wait_for(work(), 0.05)
        except asyncio.TimeoutError:
            return len(asyncio.all_tasks()) == before
        return False

    async def goes_on(monitor: Monitor) -> bool:
        try:
            async with monitor.while_reachable() as tasks:
                tasks.create_task(task_fails(monitor))
                await asyncio.sleep(0.02)
                raise KeyError
        except KeyError:
            pass
        # A cancellation that is still pending would end this.
        await asyncio.sleep(0.02)
        return True

    async def too_late(monitor: Monitor) -> bool:
        async with monitor.while_reachable() as tasks:
            pass
        work = asyncio.sleep(0)
        return isinstance(raised(lambda: tasks.create_task(work)), RuntimeError)

    async def closed(monitor: Monitor) -> bool:
        with Monitor() as own:
            try:
                async with own.while_reachable():
                    asyncio.get_running_loop().call_later(0.02, own.close)
                    await asyncio.sleep(PATIENCE)
            except ValueError:
                return True
        return False

    with Monitor() as monitor:
        for what, check in (
            ("waits for its tasks", body_ends), ("an exception of the body goes on, and its tasks end", body_fails),
            ("an exception of a task goes on, and the others end", task_fails), ("can be cancelled", cancelled),
            ("leaves no cancellation behind", goes_on), ("takes no task afterwards", too_late), ("ends with its monitor", closed),
        ):
            expect(f"while_reachable(): {what}", lambda: asyncio.run(asyncio.wait_for(check(monitor), PATIENCE)))

    async def begins_lost() -> bool:
        with Monitor(ignore="*") as lost:
            try:
                async with lost.while_reachable():
                    return False
            except NetworkLost:
                return True

    expect("while_reachable(): fails at once without a network", lambda: asyncio.run(begins_lost()))


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

        # A function, because the `try` of Python 3.13 does not cover the jump to the next turn of a loop within it.
        def work_after(seconds: float) -> None:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                with monitor.request():
                    monitor.dispatch()
                monitor.dispatch()

        for delay in itertools.islice(itertools.count(1), 500):
            try:
                work_after(delay * 2e-6)
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
check_conditions()
check_loss()
check_tasks()
check_requests()
check_threads()
check_fork()
check_signals()
check_descriptors()
sys.exit(failed)
