"""What people and programs see of a fleet: a table, a page, metrics. Text in, text out."""
from __future__ import annotations

import json
import re
import time
from collections import Counter
from pathlib import Path

from .state import Fleet, Machine, span

# So many outages within an hour make a machine one that flaps.
FLAPPING = 4
HOUR = 3_600.0
DAY = 86_400.0


def rows(fleet: Fleet, now: float) -> list[dict]:
    """A row for each machine: those that are gone first, the longest first."""
    found = []
    for machine in fleet.present(now):
        away = machine.offline(now)
        outages = machine.all_outages(now)
        day = [outage for outage in outages if (outage.end or now) > now - DAY]
        longest = max(((outage.end or now) - outage.start for outage in day), default=0.0)
        notes = []
        if machine.copied_until > now:
            notes.append("two machines have this identity")
        if sum(outage.start > now - HOUR for outage in outages) >= FLAPPING:
            notes.append("flaps")
        if machine.clock is not None and abs(machine.clock) > 60:
            notes.append(f"its clock is {span(abs(machine.clock))} {'behind' if machine.clock > 0 else 'ahead'}")
        if machine.dropped():
            notes.append(f"{machine.dropped()} lines dropped")
        if machine.missing():
            notes.append(f"{machine.missing()} lines missing")
        if away is not None:
            state, since = away
        elif machine.status == "not-reachable":
            state, since = machine.reason, machine.since
        else:
            state, since = "online", max(machine.since, machine.back)
        found.append({
            "id": machine.identity, "host": machine.host, "state": state, "since": round(since, 1),
            "network": machine.network, "labels": machine.labels, "sentence": machine.sentence, "outages": len(day),
            "longest": round(longest, 1), "notes": notes, "waiting": machine.waiting})
    rank = {"lost": 0, "silent": 0, "never heard of": 2, "ended": 2, "online": 3}
    found.sort(key=lambda row: (rank.get(row["state"], 1), row["since"], row["host"], row["id"]))
    return found


def is_online(row: dict) -> bool:
    return row["state"] == "online"


def counts(found: list[dict]) -> dict:
    return dict(Counter(row["state"] for row in found).most_common())


# A table for a terminal


def clean(text: str) -> str:
    """The text without what a terminal would act on."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]", "?", text)


def plain(state: str) -> str:
    return state.replace("_", " ")


def table(found: list[dict], now: float, lines: int = 40, width: int = 100, faults: int = 0) -> str:
    """How many machines are there, and those that are not or that need a look."""
    number = counts(found)
    head = f"{len(found)} machine{'s' * (len(found) != 1)}: " + ", ".join(f"{count} {plain(state)}" for state, count in number.items()) if found else (
        "No machine has said anything yet.")
    text = [head]
    if faults:
        text.append(f"{faults} messages were not understood; a newer netwatch mqtt may have sent them, or a stranger")
    by_region = Counter(row["labels"].get("region", "") for row in found if not is_online(row))
    if len(by_region) > 1 or (by_region and "" not in by_region):
        text.append("not online by region: " + ", ".join(f"{count} {name or 'without'}" for name, count in by_region.most_common(8)))
    shown = [row for row in found if not is_online(row) or row["notes"]]
    size = min(24, max((len(row["host"] or row["id"]) for row in shown), default=0))
    for row in shown[:lines]:
        ago = f"since {span(now - row['since'])}" if row["since"] else ""
        parts = [(row["host"] or row["id"])[:size].ljust(size), plain(row["state"]).ljust(14), ago.ljust(16),
                 row["network"], "; ".join(row["notes"])]
        text.append(clean("  ".join(parts)).rstrip()[:width])
    if len(shown) > lines:
        text.append(f"… and {len(shown) - lines} more")
    return "\n".join(map(clean, text)) + "\n"


def history(machine: Machine, now: float) -> str:
    """The outages of a machine, the newest last."""
    outages = machine.all_outages(now)
    text = []
    for outage in outages:
        length = span((outage.end or now) - outage.start) + ("" if outage.end else " until now")
        text.append(f"{stamp(outage.start)}  {length:<18}{plain(outage.reason)}")
    whole = sum((outage.end or now) - outage.start for outage in outages)
    text.append(f"{len(outages)} outage{'s' * (len(outages) != 1)}, {span(whole)}" if outages else "no outage")
    return clean(f"{machine.name()}  {machine.identity}") + "\n" + "\n".join(map(clean, text)) + "\n"


def stamp(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))


# Metrics


def metrics(fleet: Fleet, found: list[dict], now: float, is_connected: bool) -> str:
    """The text format of Prometheus, for node_exporter's textfile collector."""

    def label(text: str) -> str:
        return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    text = [
        "# HELP netwatch_fleet_machines How many machines are in a state.",
        "# TYPE netwatch_fleet_machines gauge"]
    text += [f'netwatch_fleet_machines{{state="{label(state)}"}} {count}' for state, count in counts(found).items()]
    text += [
        "# HELP netwatch_machine_up Whether a machine is there, and reaches the network.", "# TYPE netwatch_machine_up gauge"]
    text += [
        f'netwatch_machine_up{{machine="{row["id"]}",host="{label(row["host"])}",region="{label(row["labels"].get("region", ""))}"}} '
        f"{int(is_online(row))}" for row in found]
    text += [
        "# HELP netwatch_machine_heard_timestamp_seconds When the last word of a machine came.",
        "# TYPE netwatch_machine_heard_timestamp_seconds gauge"]
    text += [
        f'netwatch_machine_heard_timestamp_seconds{{machine="{machine.identity}"}} {machine.heard:.3f}'
        for machine in fleet.present(now) if machine.heard is not None]
    text += [
        "# HELP netwatch_fleet_faults_total How many messages were not understood.", "# TYPE netwatch_fleet_faults_total counter",
        f"netwatch_fleet_faults_total {fleet.faults}",
        "# HELP netwatch_fleet_connected Whether the engine can be asked.", "# TYPE netwatch_fleet_connected gauge",
        f"netwatch_fleet_connected {int(is_connected)}",
        "# HELP netwatch_fleet_sample_timestamp_seconds When this file was written.",
        "# TYPE netwatch_fleet_sample_timestamp_seconds gauge", f"netwatch_fleet_sample_timestamp_seconds {now:.3f}"]
    return "\n".join(text) + "\n"


# A page


def page(found: list[dict], now: float, clock: float, is_connected: bool = True, seconds: int = 5) -> str:
    """One file that loads nothing, and shows itself again after some seconds.

    now: the time of which the rows tell. clock: when the page is written.
    """
    template = (Path(__file__).parent / "page.html").read_text(encoding="utf-8")
    data = {
        "now": round(now, 1), "written": round(clock, 1), "connected": is_connected, "seconds": seconds,
        "rows": [
            [row["host"] or row["id"], row["id"], row["state"], row["since"], row["network"],
             row["labels"].get("region", ""), row["sentence"], row["outages"], row["longest"], row["notes"]]
            for row in found]}
    # A name of a network must not end the script.
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return template.replace("/*DATA*/null", text)
