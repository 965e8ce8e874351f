"""Tries transfers in the background while programs, workers and uplinks are killed. For contrib/verify transfers, in its namespace.

    transfers.py PROBE NETWATCH FOLDER KILLS SWAPS METERED MANY

PROBE and NETWATCH are programs, FOLDER is empty, KILLS and SWAPS are numbers, METERED is a number of seconds, MANY is 1 or 0.
"""

import asyncio
import collections
import hashlib
import json
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import time

PROBE, NETWATCH, FOLDER = sys.argv[1:4]
KILLS, SWAPS, METERED = map(int, sys.argv[4:7])
SIZE = 2_000_000
SERVER = "10.99.0.1"
GATEWAYS = {"enp1s0": "192.168.1.1", "enp2s0": "192.168.2.1"}
folder = pathlib.Path(FOLDER)
environment = dict(os.environ, XDG_STATE_HOME=str(folder / "state"), PATH=f"{os.path.dirname(NETWATCH)}:{os.environ['PATH']}")
environment.pop("XDG_RUNTIME_DIR", None)
failures = 0


def expect(what, is_true, detail=""):
    global failures
    print(f"  {'ok     ' if is_true else 'FAILED '} {what}{'' if is_true else f': {detail}'}", flush=True)
    failures += not is_true


def content(number, size=SIZE):
    return hashlib.shake_128(str(number).encode()).digest(size)


def netwatch(*words):
    return subprocess.run([NETWATCH, *words], env=environment, capture_output=True, text=True, timeout=60)


def worker():
    """The process of the worker; None if none runs."""
    try:
        process = int((folder / "state/netwatch/transfers/worker.lock").read_text())
        state = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0]
        return None if state == "Z" else process
    except (OSError, ValueError, IndexError):
        return None


def end(process):
    if process:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass


class App:
    """The app, which is killed and started again."""

    def __init__(self, identifier):
        self.identifier, self.lines, self.process = identifier, [], None

    def start(self):
        self.process = subprocess.Popen(
            [PROBE, "background", self.identifier, f"{NETWATCH}-http"], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.rest = b""

    def make(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def read(self):
        data = self.process.stdout.read() or b""
        *whole, self.rest = (self.rest + data).split(b"\n")
        self.lines += [line.decode() for line in whole]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.read()
        self.process.stdout.close()


def log():
    """What the server has seen."""
    return [line.split() for line in (folder / "server.log").read_text().splitlines()]


def kill_everything():
    """Kills the app and the worker at random points, and counts what has become of each task."""
    print(f"{KILLS} kills", flush=True)
    source = folder / "source"
    source.write_bytes(content("source", 200_000))
    app, number, wanted = App("chaos"), 0, {}
    app.start()
    for round in range(KILLS):
        for kind in ("get", "get", "put", "post"):
            if sum(kind == other for other, _ in wanted.values()) - len(app.lines) / 8 > 40:
                continue
            number += 1
            target = folder / f"file-{number}"
            wanted[number] = (kind, target)
            app.make(f"{kind} http://{SERVER}:8000/{kind}/{number} {target if kind == 'get' else source}")
        time.sleep(random.uniform(0.02, 0.5))
        app.read()
        victim = random.choice(["app", "worker", "both"])
        if victim != "app":
            end(worker())
        if victim != "worker":
            app.kill()
            app.start()
        elif random.random() < 0.5:
            netwatch("transfers", "resume")
    # Now everything may end.
    made = {}
    deadline = time.time() + 180
    while time.time() < deadline:
        app.read()
        made = dict(line.split()[1:4:2] for line in app.lines if line.startswith("made "))
        ended = {line.split()[1] for line in app.lines if line.startswith("end ")}
        if not [row for row in json_list("chaos")] and set(made) <= ended:
            break
        netwatch("transfers", "resume")
        time.sleep(0.3)
    app.kill()
    urls = collections.Counter(made.values())
    expect(f"{len(made)} tasks, none of them stored twice", max(urls.values()) == 1, [url for url in urls if urls[url] > 1])
    ends, told_after = collections.defaultdict(list), []
    acknowledged = set()
    for line in app.lines:
        words = line.split(maxsplit=2)
        if words[0] == "end":
            ends[words[1]].append(words[2])
            if words[1] in acknowledged:
                told_after.append(line)
        elif words[0] == "acknowledged":
            acknowledged.add(words[1])
    lost = [url for id, url in made.items() if id not in ends]
    expect("no end is lost", not lost, lost)
    expect("none is told after it was acknowledged", not told_after, told_after)
    different = {id: ends[id] for id in ends if len(set(ends[id])) > 1}
    expect("each end is the same whenever it is told", not different, different)
    results = collections.Counter(results[0].split(":")[0] for results in ends.values())
    print(f"          ends: {dict(results)}", flush=True)
    wrong = [
        url for id, url in made.items()
        if "/get/" in url and ends.get(id, [""])[0] in ("200", "206") and
        (folder / f"file-{url.rsplit('/', 1)[1]}").read_bytes() != content(url.rsplit("/", 1)[1])
    ]
    expect("every file is exact to the byte", not wrong, wrong)
    odd = {made.get(id, id): result for id, result in ends.items() if result[0].split(":")[0] not in ("200", "206", "outcomeUnknown")}
    expect("every task has ended well, or is one of which nobody can know", not odd, odd)
    unknown = [made[id] for id in made if ends.get(id, [""])[0].startswith("outcomeUnknown")]
    expect("only a POST can be of that kind", all("/post/" in url for url in unknown), unknown)
    posts = collections.Counter(words[1] for words in log() if words[0] == "POST")
    twice = [url for url, count in posts.items() if count > 1]
    expect(f"none of {len(posts)} POSTs has come to the server twice", not twice, twice)
    left = [name for name in os.listdir(folder) if "netwatch-" in name]
    expect("no partial file is left", not left, left)


def json_list(session):
    rows = [json.loads(line) for line in netwatch("transfers", "--json").stdout.splitlines()]
    return [row for row in rows if row["session"] == session]


def ip(*words):
    subprocess.run(["ip", *words], check=True)


def swap_uplinks():
    """Takes one of two uplinks away, again and again."""
    print(f"{SWAPS} swaps of the uplink", flush=True)
    targets = [folder / f"swap-{number}" for number in range(3)]
    for number, target in enumerate(targets):
        netwatch("get", "--later", f"http://{SERVER}:8000/slow/swap{number}", "-o", str(target))
    delays = []

    def received():
        return sum(row.get("received", 0) for row in json_list("get"))

    begun = time.time()
    while not received():
        assert time.time() < begun + 30, netwatch("transfers").stdout
        time.sleep(0.05)
    for swap in range(SWAPS):
        # The path is gone for a moment, and then is another one.
        old, new = ("enp1s0", "enp2s0") if swap % 2 == 0 else ("enp2s0", "enp1s0")
        ip("link", "set", old, "down")
        time.sleep(random.uniform(0, 0.3))
        ip("link", "set", new, "up")
        ip("route", "replace", "default", "via", GATEWAYS[new], "dev", new)
        since, before = time.time(), sum(int(words[2]) for words in log() if words[0] == "BYTES")
        while True:
            now = sum(int(words[2]) for words in log() if words[0] == "BYTES" and float(words[3]) > since)
            if now or not [row for row in json_list("get") if row["state"] in ("running", "waiting")]:
                break
            assert time.time() < since + 60, netwatch("transfers").stdout
            time.sleep(0.01)
        delays.append(time.time() - since)
    late = sorted(delays)
    print(f"          bytes again after {statistics.median(late) * 1000:.0f} ms (median), {late[-1] * 1000:.0f} ms (most)", flush=True)
    expect("back within a second after the path", late[-1] <= 1, late[-5:])
    deadline = time.time() + 120
    while [row for row in json_list("get") if row["state"] != "done"] and time.time() < deadline:
        time.sleep(0.2)
    for number, target in enumerate(targets):
        expect(f"the file {number} is exact to the byte", target.read_bytes() == content(f"swap{number}", 20_000_000),
               netwatch("transfers").stdout)
    netwatch("transfers", "clear")


def stay_metered():
    """Waits while the path costs money."""
    print(f"{METERED} seconds on a metered path", flush=True)
    pathlib.Path("/etc/netwatch/rules").write_text("metered interface enp*\n")
    before = len(log())
    target = folder / "metered"
    netwatch("get", "--later", "--for", "unmetered", f"http://{SERVER}:8000/get/metered", "-o", str(target))
    time.sleep(2)
    process = worker()
    used = os.sysconf("SC_CLK_TCK"), cpu(process)
    time.sleep(METERED)
    expect("nothing is asked", len(log()) == before, log()[before:])
    expect("and nothing is done", cpu(process) - used[1] == 0, (cpu(process) - used[1]) / used[0])
    pathlib.Path("/etc/netwatch/rules").write_text("")
    deadline = time.time() + 10
    while not target.exists() and time.time() < deadline:
        time.sleep(0.05)
    expect("it comes when the path costs nothing", target.exists() and target.read_bytes() == content("metered"))
    netwatch("transfers", "clear")


def cpu(process):
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return int(fields[11]) + int(fields[12])


def queue_many():
    """Lists ten thousand transfers, and looks at their order."""
    print("10,000 transfers", flush=True)
    netwatch("get", "--later", f"http://{SERVER}:8000/get/first", "-o", str(folder / "first"))
    deadline = time.time() + 30
    while worker() and time.time() < deadline:
        time.sleep(0.05)
    spool = folder / "state/netwatch/transfers/get"
    [sample] = [path for path in spool.iterdir() if path.suffix == ".json"]
    record = json.loads(sample.read_text())
    record["phase"] = "waiting"
    record.pop("end")
    sample.unlink()
    many = folder / "many"
    many.mkdir()
    for number in range(1, 10_001):
        record["id"] = f"{number}-{number:08x}"
        record["file"] = str(many / str(number))
        text = json.dumps(record).replace("/get/first", f"/tiny/{number}")
        path = spool / f"{record['id']}.json"
        path.write_text(text)
        path.chmod(0o600)
    times = []
    for _ in range(9):
        began = time.time()
        listed = netwatch("transfers").stdout
        times.append(time.time() - began)
    print(f"          the list takes {statistics.median(times) * 1000:.0f} ms", flush=True)
    expect("all are listed", listed.count("\n") == 10_000, listed[:200])
    expect("within 100 ms", statistics.median(times) <= 0.1, times)
    before, began = len(log()), time.time()
    netwatch("transfers", "resume", "1")
    deadline = time.time() + 600
    while time.time() < deadline and len([words for words in log()[before:] if "/tiny/" in words[1]]) < 10_000:
        time.sleep(1)
    took = time.time() - began
    order = [int(words[1].rsplit("/", 1)[1]) for words in log()[before:] if "/tiny/" in words[1]]
    print(f"          all are done after {took:.0f} s", flush=True)
    furthest = max((abs(number - place) for place, number in enumerate(order, 1)), default=10_000)
    expect("they begin in their order, as far as four at a time can", len(order) == 10_000 and furthest < 8, (len(order), furthest))


for step, count in ((kill_everything, KILLS), (swap_uplinks, SWAPS), (stay_metered, METERED), (queue_many, int(sys.argv[7]))):
    if count:
        step()
sys.exit(failures != 0)
