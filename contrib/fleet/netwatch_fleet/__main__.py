"""The command netwatch-fleet."""
from __future__ import annotations

import argparse
import asyncio
import json
import logging
import os
import shutil
import signal
import sys
import time
from pathlib import Path

from . import view
from .source import Refused, Settings, UsageError, read, words
from .state import IDENTITY, Event, Fleet

# How often what has changed is shown, in seconds.
INTERVAL = 1.0


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> None:
        raise UsageError(f"{message}; netwatch-fleet --help explains all options.")


def parser() -> argparse.ArgumentParser:
    result = Parser(
        prog="netwatch-fleet", description="Shows which machines of a fleet are offline, since when, and why.",
        epilog="Exit status: 0 done or ended by a signal, 1 there is no such machine, 2 could not run, 64 wrong usage.")
    result.add_argument("engine", help="where the messages are: nats://HOST, tls://HOST, mqtts://HOST or mqtt://HOST")
    result.add_argument("--user", metavar="NAME", help="log in with this name")
    result.add_argument("--password-file", metavar="PATH", help="log in with the password in the first line of this file")
    result.add_argument("--ca", metavar="PATH", help="trust the authorities in this file (default: those of the system)")
    result.add_argument("--since", metavar="TIME", default="1d", help="begin the history so long ago, such as 12h or 7d (default: 1d)")
    result.add_argument("--expect", metavar="FILE", help="tell which machines of this inventory were never heard of: an identity, a host and labels on each line")
    result.add_argument("--page", metavar="FILE", help="write a page, again whenever something has changed")
    result.add_argument("--metrics", metavar="FILE", help="write metrics for Prometheus, every 15 seconds")
    result.add_argument("--alerts", action="store_true", help="print a line of JSON for each event, and no table")
    result.add_argument("--once", action="store_true", help="print the table once")
    result.add_argument("--history", metavar="MACHINE", help="print the outages of a machine, by its host or its identity")
    result.add_argument("--replicas", metavar="N", type=int, default=1, help="if the streams have to be made, keep them on so many servers (default: 1)")
    return result


def seconds(text: str) -> float:
    units = {"m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
    if not text[:-1].isdecimal() or text[-1:] not in units:
        raise UsageError("--since needs a number with m, h, d or w behind it, such as 7d.")
    return min(float(text[:-1]) * units[text[-1]], 3_650 * 86_400.0)


def first_line(path: str) -> str:
    lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    if not lines or not lines[0]:
        raise UsageError(f"{path} has no password in its first line; netwatch-fleet-login add operator --output {path} writes one.")
    return lines[0]


def inventory(fleet: Fleet, path: str) -> None:
    for number, line in enumerate(Path(path).read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        if not IDENTITY.fullmatch(words[0]):
            raise UsageError(f"{path}:{number}: write an identity first, as netwatch mqtt --show-id prints it.")
        labels = dict(word.split("=", 1) for word in words[1:] if "=" in word)
        fleet.expect(words[0], next((word for word in words[1:] if "=" not in word), ""), labels)


def replace(path: str, text: str) -> None:
    """Writes a file that readers see whole: the old one, or this one."""
    draft = Path(f"{path}.new")
    draft.write_text(text, encoding="utf-8")
    os.replace(draft, path)


class Program:
    def __init__(self, options: argparse.Namespace) -> None:
        self.options = options
        self.trouble: str | None = None
        # What is wrong, as it was told since the last connection.
        self.told: set[str] = set()
        # When the connection to the engine was lost. Since then, nothing is known.
        self.lost = 0.0
        self.offset = 0.0
        self.is_complete = asyncio.Event()
        self.forget()

    def forget(self) -> None:
        """Begins without any message."""
        self.fleet = Fleet()
        self.fleet.has_signs = False
        self.has_changed = True
        self.is_complete.clear()
        if self.options.expect:
            inventory(self.fleet, self.options.expect)

    def tell(self, events: list[Event]) -> None:
        if not (self.options.alerts and self.is_complete.is_set()):
            return
        for event in events:
            machine = event.machine
            print(json.dumps({
                "v": 1, "event": event.kind, "time": round(event.time, 3), "machine": machine.identity, "host": machine.host,
                "labels": machine.labels, "sentence": event.words}), flush=True)

    def clock(self) -> float:
        """The time by the clock of the engine, because that of this machine may be wrong."""
        return time.time() + self.offset

    def now(self) -> float:
        """The time of which the state of the machines is known."""
        return self.clock() if self.trouble is None else self.lost

    def set_clock(self, engine: float) -> None:
        self.offset = engine - time.time()

    def take(self, identity: str, kind: str, payload: bytes, now: float, is_live: bool) -> None:
        self.tell(self.fleet.take(identity, kind, payload, now, is_live))
        self.has_changed = self.has_changed or kind != "alive"

    def set_trouble(self, words: str | None) -> None:
        if words is None:
            if self.trouble is not None:
                print("netwatch-fleet: connected to the engine", file=sys.stderr)
                self.fleet.engine_is_back(self.clock())
            self.told.clear()
        else:
            if self.trouble is None:
                self.lost = self.clock()
            if words not in self.told:
                print(f"netwatch-fleet: {view.clean(words)}; trying again", file=sys.stderr)
            self.told.add(words)
        self.has_changed = self.has_changed or (words is None) != (self.trouble is None)
        self.trouble = words

    def caught_up(self) -> None:
        self.fleet.has_signs = True
        if not self.is_complete.is_set():
            # Who was silent before is no news.
            self.fleet.tick(self.now())
        self.is_complete.set()

    async def show(self) -> None:
        await self.is_complete.wait()
        last_metrics, last_page, screen = 0.0, 0.0, sys.stdout.isatty()
        while True:
            now, clock = self.now(), self.clock()
            events = self.fleet.tick(now)
            self.tell(events)
            changed = self.has_changed or bool(events)
            due = self.options.metrics and clock - last_metrics >= 15
            # A page that nobody writes any more says so itself.
            due_page = self.options.page and (changed or clock - last_page >= 15)
            if changed or due or due_page:
                self.has_changed = False
                rows = view.rows(self.fleet, now)
                if due_page:
                    replace(self.options.page, view.page(rows, now, clock, self.trouble is None))
                    last_page = clock
                if due:
                    replace(self.options.metrics, view.metrics(self.fleet, rows, clock, self.trouble is None))
                    last_metrics = clock
                if changed and not self.options.alerts:
                    size = shutil.get_terminal_size((100, 40))
                    text = view.table(rows, now, size.lines - 4 if screen else 1_000, size.columns if screen else 1_000, self.fleet.faults)
                    if self.trouble is not None:
                        text = f"No connection to the engine since {view.stamp(self.lost)}. Until then:\n{text}"
                    print(("\x1b[H\x1b[J" if screen else "") + text, end="" if screen else "\n", flush=True)
            await asyncio.sleep(INTERVAL)

    async def run(self) -> int:
        options = self.options
        password = first_line(options.password_file) if options.password_file else None
        settings = Settings(
            options.engine, options.user, password, options.ca, seconds(options.since), max(1, options.replicas),
            30.0 if options.once or options.history else None)
        reader = asyncio.create_task(read(settings, self.take, self.caught_up, self.set_trouble, self.set_clock, self.forget))
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, stop.set)
        if options.once or options.history:
            complete = asyncio.create_task(self.is_complete.wait())
            await asyncio.wait({reader, complete, asyncio.create_task(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
            if reader.done():
                reader.result()
            return self.answer() if complete.done() else 0
        shower = asyncio.create_task(self.show())
        await asyncio.wait({reader, shower, asyncio.create_task(stop.wait())}, return_when=asyncio.FIRST_COMPLETED)
        for task in (reader, shower):
            if task.done():
                task.result()
        return 0

    def answer(self) -> int:
        now = self.now()
        if not self.options.history:
            print(view.table(view.rows(self.fleet, now), now, 1_000_000, 1_000, self.fleet.faults), end="")
            return 0
        wanted = self.options.history
        found = self.fleet.named(wanted)
        for machine in found:
            print(view.history(machine, now), end="")
        if not found:
            known = sorted(each.name() for each in self.fleet.machines.values())
            some = ", ".join(known[:10]) + (f" and {len(known) - 10} more" if len(known) > 10 else "") if known else "none"
            print(f"netwatch-fleet: there is no machine '{view.clean(wanted)}'; known are {view.clean(some)}", file=sys.stderr)
        return 0 if found else 1


def main() -> int:
    # asyncio warns about TLS connections that break off, which is told in words of our own.
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    try:
        asyncio.run(start(parser().parse_args()))
        return 0
    except UsageError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 64
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except KeyboardInterrupt:
        return 0
    except asyncio.TimeoutError:
        print("netwatch-fleet: the engine does not answer", file=sys.stderr)
        return 2
    except Refused as error:
        print(f"netwatch-fleet: {view.clean(str(error))}", file=sys.stderr)
        return 2
    except OSError as error:
        print(f"netwatch-fleet: {error}", file=sys.stderr)
        return 2
    except Exception as error:
        if not type(error).__module__.startswith("nats"):
            raise
        print(f"netwatch-fleet: the engine says: {view.clean(words(error))}", file=sys.stderr)
        return 2


async def start(options: argparse.Namespace) -> None:
    status = await Program(options).run()
    try:
        sys.stdout.flush()
    except OSError:
        pass
    # Nothing is left to do, and the libraries may wait for an engine that does not answer.
    os._exit(status)


if __name__ == "__main__":
    sys.exit(main())
