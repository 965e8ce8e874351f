"""What is known of a fleet: values in, values out. Without input, output or a clock of its own.

Times are seconds since 1970. Those of messages are the engine's, because the clock of a machine may be wrong.
"""
from __future__ import annotations

import json
import re
from bisect import bisect_right
from calendar import timegm
from collections import deque
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Iterator, NamedTuple

IDENTITY = re.compile(r"[0-9a-f]{16}-[0-9a-f]{16}")
RUN = re.compile(r"[0-9a-f]{8}")
# The most runs of a machine whose numbers are remembered, so that a line that comes again is known.
MOST_RUNS = 16
# The most outages of a machine that are remembered.
MOST_OUTAGES = 500
# How far apart an outage that the machine reports and its silence may be to be the same.
NEAR = 15.0
# The longest message that is read, and the most labels of a machine.
MOST_BYTES = 65_536
MOST_LABELS = 32
# The time that a machine may take to come back to an engine that was away: its pause between two connections is up to a minute.
RETURN = 75.0
# A machine that is not in the inventory, and has been away for longer, was taken away.
RETIRED = 3_600.0
# A clock that is wrong by more is told.
CLOCK_TOLERANCE = 60.0


class Outage(NamedTuple):
    """A time without a way to the network, or without a word."""

    start: float
    end: float | None
    # A reason of the stream, such as no_carrier; or lost, silent or ended, if the machine itself has said nothing.
    reason: str


class Event(NamedTuple):
    """Something that an operator may want to be told."""

    # offline, online, copied, clock, missing
    kind: str
    machine: "Machine"
    time: float
    words: str


@dataclass
class Run:
    """A start of the program of a machine."""

    last: int
    # Lines that the program has dropped, and lines that never came.
    dropped: int = 0
    missing: int = 0


@dataclass
class Machine:
    identity: str
    host: str = ""
    labels: dict = field(default_factory=dict)
    version: str = ""
    silence: float = 90.0
    # The run that speaks for the machine, and those that did before.
    run: str = ""
    runs: dict = field(default_factory=dict)
    # When the last message came; None if none ever has.
    heard: float | None = None
    # Until then, its silence may be that of the engine.
    excused: float = 0.0
    # lost or ended, by the machine or by its last will; None while it is there.
    absence: str | None = None
    # When it came back last.
    back: float = 0.0
    # Its name in the inventory.
    alias: str = ""
    absent_since: float = 0.0
    was_offline: bool = False
    waiting: int = 0
    # How far the machine's clock is behind; None if that is not known.
    clock: float | None = None
    clock_told: bool = False
    # Until when two machines with this identity count as seen.
    copied_until: float = 0.0
    status: str = ""
    reason: str = ""
    sentence: str = ""
    since: float = 0.0
    network: str = ""
    # The machine's own outages, and the times without a word from it.
    outages: deque = field(default_factory=lambda: deque(maxlen=MOST_OUTAGES))
    absences: deque = field(default_factory=lambda: deque(maxlen=MOST_OUTAGES))
    down_since: tuple | None = None
    # What runs had dropped and lacked that are not remembered any more.
    old_dropped: int = 0
    old_missing: int = 0
    # The engine's time of the last presence. Signs of life come from another stream, maybe later than what was said after them.
    announced: float = 0.0

    def name(self) -> str:
        return self.host or self.identity

    def offline(self, now: float) -> tuple[str, float] | None:
        """Why the machine is not there, and since when; None if it is there."""
        if self.heard is None:
            return "never heard of", 0.0
        if self.absence is not None:
            return self.absence, self.absent_since
        if now > max(self.heard + self.silence, self.excused):
            return "silent", self.heard
        return None

    def all_outages(self, now: float) -> list[Outage]:
        """The outages in the order of their beginnings. A silence that an outage explains is not told twice."""
        own = list(self.outages)
        if self.down_since is not None:
            own.append(Outage(self.down_since[0], None, self.down_since[1]))
        quiet = [absence for absence in self.absences if absence.reason != "ended"]
        away = self.offline(now)
        if away is not None and away[0] in ("lost", "silent"):
            quiet.append(Outage(away[1], None, away[0]))
        own.sort(key=lambda outage: outage.start)
        starts = [outage.start for outage in own]
        # The latest end of an outage and of those that began before it.
        ends = list(accumulate((outage.end or now for outage in own), max))

        def is_explained(each: Outage) -> bool:
            before = bisect_right(starts, (each.end or now) + NEAR)
            return before > 0 and ends[before - 1] >= each.start - NEAR

        return sorted(own + [each for each in quiet if not is_explained(each)], key=lambda outage: outage.start)

    def forget_old_runs(self) -> None:
        while len(self.runs) > MOST_RUNS:
            oldest = next(name for name in self.runs if name != self.run)
            run = self.runs.pop(oldest)
            self.old_dropped += run.dropped
            self.old_missing += run.missing

    def dropped(self) -> int:
        return self.old_dropped + sum(run.dropped for run in self.runs.values())

    def missing(self) -> int:
        return self.old_missing + sum(run.missing for run in self.runs.values())


class Fleet:
    """All machines of which messages have come, or that are expected."""

    def __init__(self) -> None:
        self.machines: dict[str, Machine] = {}
        self.faults = 0
        # The identities of the inventory.
        self.expected: set[str] = set()
        # Whether signs of life come. An engine keeps only the last one of each machine, so silence in the past is not known.
        self.has_signs = True

    def expect(self, identity: str, host: str = "", labels: dict | None = None) -> None:
        """Adds a machine of an inventory, from which maybe nothing ever comes."""
        machine = self._machine(identity)
        self.expected.add(identity)
        machine.alias = host
        machine.host = machine.host or host
        machine.labels = machine.labels or dict(labels or {})

    def _machine(self, identity: str) -> Machine:
        machine = self.machines.get(identity)
        if machine is None:
            machine = self.machines[identity] = Machine(identity)
        return machine

    def present(self, now: float) -> list[Machine]:
        """All machines, without those that are not in the inventory any more and long gone."""
        def is_retired(machine: Machine) -> bool:
            away = machine.offline(now)
            return bool(self.expected) and machine.identity not in self.expected and away is not None and now - away[1] > RETIRED

        return [each for each in self.machines.values() if not is_retired(each)]

    def named(self, name: str) -> list[Machine]:
        return [each for each in self.machines.values() if name in (each.identity, each.host, each.alias)]

    def engine_is_back(self, now: float) -> None:
        """Gives each machine the time to come back to an engine that was away."""
        for machine in self.machines.values():
            machine.excused = now + max(machine.silence, RETURN)

    # Messages

    def take(self, identity: str, kind: str, payload: bytes, now: float, is_live: bool = True) -> list[Event]:
        """Takes a message.

        kind: line, presence or alive. is_live: whether it came just now, and not from a broker that retains it.
        """
        try:
            if len(payload) > MOST_BYTES:
                raise ValueError("too long")
            # What no text can have, such as half of a surrogate pair, is replaced.
            value = json.loads(payload.decode(errors="replace"), parse_constant=refuse, parse_int=whole, object_hook=sound)
            if not IDENTITY.fullmatch(identity) or value["v"] != 1 or not RUN.fullmatch(value["run"]):
                raise ValueError("not a message of version 1")
            take = {"line": self._line, "presence": self._presence, "alive": self._alive}[kind]
            machine = self.machines.get(identity) or Machine(identity)
            events = list(take(machine, value, now, is_live))
            machine.forget_old_runs()
            self.machines[identity] = machine
            return events
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            # Anybody with a login may send anything.
            self.faults += 1
            return []

    def _heard(self, machine: Machine, now: float) -> Iterator[Event]:
        """Notes a word from a machine that is there."""
        away = machine.offline(now) if machine.heard is not None else None
        if away is not None and (away[0] != "silent" or self.has_signs):
            machine.absences.append(Outage(away[1], now, away[0]))
            machine.back = now
        if machine.was_offline:
            machine.was_offline = False
            gone = f" after {span(now - away[1])}" if away else ""
            yield Event("online", machine, now, f"{machine.name()} is back{gone}")
        machine.absence = None
        machine.heard = max(machine.heard or 0.0, now)

    def _presence(self, machine: Machine, value: dict, now: float, is_live: bool) -> Iterator[Event]:
        host, labels, silence = value["host"], value["labels"], value["silence"]
        time = parse_time(value["time"])
        if not isinstance(host, str) or not isinstance(labels, dict) or not 1 <= silence <= 86_400:
            raise ValueError("not a presence")
        if not self.has_signs and now < machine.announced:
            # The past is read again.
            return
        if value["online"] is True:
            machine.host, machine.silence = host[:255], float(silence)
            machine.labels = {name[:32]: str(label)[:128] for name, label in list(labels.items())[:MOST_LABELS]}
            machine.version = str(value.get("version", ""))[:64]
            if not is_live and machine.heard is not None and value["run"] == machine.run:
                # A broker that retains what was known says nothing about now.
                return
            machine.announced = now
            yield from self._heard(machine, now)
            machine.run = value["run"]
            machine.runs.setdefault(machine.run, Run(0))
            if is_live:
                yield from self._clock(machine, time, now)
            return
        if machine.run and value["run"] != machine.run:
            # The last will of a connection that another run has replaced.
            return
        if not machine.run:
            machine.host, machine.run = host[:255], value["run"]
        absence = "ended" if value.get("absence") == "ended" else "lost"
        # The broker notices a loss late; the last sign came before it.
        machine.absent_since = min(machine.heard or now, now) if absence == "lost" and self.has_signs else now
        machine.absence = absence
        machine.announced = now
        machine.heard = machine.heard or now
        yield from self.look(machine, now)

    def _alive(self, machine: Machine, value: dict, now: float, is_live: bool) -> Iterator[Event]:
        time, waiting, run = parse_time(value["time"]), int(value["waiting"]), value["run"]
        if waiting < 0:
            raise ValueError("not a sign")
        if now < machine.announced:
            # Said before what is known.
            machine.heard = max(machine.heard or 0.0, now)
            if machine.absence == "lost":
                machine.absent_since = min(machine.absent_since, machine.heard)
            return
        if machine.run and run != machine.run and run in machine.runs:
            # The run that was there before speaks still, so there are two.
            if machine.copied_until < now:
                yield Event("copied", machine, now, f"two machines have the identity of {machine.name()}; give one of them "
                            "another by netwatch mqtt --new-id")
            machine.copied_until = now + 600
        machine.runs.setdefault(run, Run(0))
        machine.waiting = waiting
        yield from self._heard(machine, now)
        yield from self._clock(machine, time, now)

    def _clock(self, machine: Machine, time: float, now: float) -> Iterator[Event]:
        machine.clock = now - time
        is_wrong = abs(machine.clock) > CLOCK_TOLERANCE
        if is_wrong and not machine.clock_told:
            side = "behind" if machine.clock > 0 else "ahead"
            yield Event("clock", machine, now, f"the clock of {machine.name()} is {span(abs(machine.clock))} {side}")
        machine.clock_told = is_wrong

    def _line(self, machine: Machine, value: dict, now: float, is_live: bool) -> Iterator[Event]:
        number, run_name = value["n"], value["run"]
        lost = value.get("lost", 0)
        if type(number) is not int or type(lost) is not int or number < 1 or not 0 <= lost <= number:
            raise ValueError("not a number")
        line = None if lost else reading(value["line"])
        run = machine.runs.setdefault(run_name, Run(0))
        if number <= run.last:
            # It has come before.
            return
        # Where reading began, nobody knows what was before.
        hole = number - max(lost, 1) - run.last if run.last else 0
        if hole > 0:
            run.missing += hole
            yield Event("missing", machine, now, f"{hole} lines of {machine.name()} have not come")
        run.last = number
        run.dropped += lost
        if is_live:
            yield from self._heard(machine, now)
        if line is None:
            return
        behind = machine.clock or 0.0
        time = line["time"] + (behind if abs(behind) > CLOCK_TOLERANCE else 0.0)
        machine.reason, machine.sentence = line["reason"], line["sentence"]
        if line["status"] != machine.status:
            machine.status, machine.since = line["status"], time
        if line["network"]:
            machine.network = line["network"]
        if line["status"] == "not-reachable":
            machine.down_since = machine.down_since or (time, line["reason"])
        elif machine.down_since is not None:
            machine.outages.append(Outage(machine.down_since[0], max(time, machine.down_since[0]), machine.down_since[1]))
            machine.down_since = None

    # Time

    def look(self, machine: Machine, now: float) -> Iterator[Event]:
        """Tells that a machine is gone, once."""
        away = machine.offline(now)
        if away is None or machine.was_offline or machine.heard is None:
            return
        machine.was_offline = True
        words = {"lost": "has lost its connection", "silent": "says nothing any more", "ended": "was ended"}[away[0]]
        yield Event("offline", machine, now, f"{machine.name()} {words}")

    def tick(self, now: float) -> list[Event]:
        """Tells which machines have become silent."""
        return [event for machine in self.machines.values() for event in self.look(machine, now)]


def refuse(_word: str) -> None:
    raise ValueError("NaN and infinity are no JSON")


def whole(text: str) -> int:
    """A whole number, as high as every reader has it exactly."""
    if len(text) > 17 or abs(int(text)) > 2**53:
        raise ValueError("too high")
    return int(text)


def sound(value: dict) -> dict:
    """An object whose texts can be written anywhere."""
    def clean(text):
        return text.encode(errors="replace").decode() if isinstance(text, str) else text

    return {clean(key): clean(text) for key, text in value.items()}


def parse_time(text: str) -> float:
    """Reads a time such as 2026-11-21T02:15:00.123456Z."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d{1,9})?Z", text)
    if not found:
        raise ValueError("not a time")
    return timegm(tuple(int(part) for part in found.groups()[:6])) + float(found[7] or 0)


def reading(line: dict) -> dict:
    """What the overview needs of a line of the stream."""
    reach = line["reachability"]
    network = ""
    if reach.get("medium"):
        wifi = reach.get("wifi") or {}
        ways = [reach[way] for way in ("ipv4", "ipv6") if reach.get(way)]
        gateway = next((way["gateway"] for way in ways if way.get("gateway")), "")
        network = " ".join(str(part) for part in (reach["medium"], wifi.get("ssid") or gateway) if part)[:100]
    return {
        "status": str(reach["status"])[:32], "reason": re.sub("[^a-z_]", "", str(line.get("reason", "")))[:40],
        "sentence": str(line.get("sentence", ""))[:300], "time": parse_time(line["time"]), "network": network}


def span(seconds: float) -> str:
    """A length of time in words, such as 3 min or 2 d 4 h."""
    seconds = max(0, int(seconds))
    if seconds < 60:
        return f"{seconds} s"
    if seconds < 3_600:
        return f"{seconds // 60} min"
    if seconds < 86_400:
        return f"{seconds // 3_600} h {seconds % 3_600 // 60} min"
    return f"{seconds // 86_400} d {seconds % 86_400 // 3_600} h"
