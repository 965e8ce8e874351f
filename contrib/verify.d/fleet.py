"""Three machines in namespaces, a nats-server with TLS and logins, and the overview; then simulated machines."""
import asyncio
import json
import os
import re
import signal
import ssl
import struct
import subprocess
import sys
import time
from pathlib import Path

TOP, WORK, PROGRAMS, MACHINES, LINES = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5])
HAS_CLUSTER = sys.argv[6] == "1"
FLEET = WORK / "etc/netwatch/fleet"
HOST = "10.99.0.1"
SERVERS_KILLED = 3
failures = 0


def expect(words, is_true, more=""):
    global failures
    print(f"  {'ok     ' if is_true else 'FAILED '} {words}", flush=True)
    if not is_true:
        failures += 1
        print(more, file=sys.stderr, flush=True)


def run(*command, **more):
    return subprocess.run(command, capture_output=True, text=True, **more)


def wait(what, condition, seconds=60):
    """Waits for an event that must come."""
    end = time.time() + seconds
    while time.time() < end:
        if value := condition():
            return value
        time.sleep(0.05)
    sys.exit(f"netwatch: {what} has not come in {seconds} s")


def ip(*lines):
    for line in lines:
        subprocess.run(["ip", *line.split()], check=True)


class Machine:
    """A machine in a network namespace, with a cable to the engine."""

    def __init__(self, number):
        self.number, self.state, self.process = number, WORK / f"machine-{number}", None
        self.state.mkdir(mode=0o700)
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "900"])
        mine = os.readlink("/proc/self/ns/net")
        wait("a namespace", lambda: os.readlink(f"/proc/{self.holder.pid}/ns/net") != mine)
        ip(f"link add cable{number} type veth peer name enp1s0 netns {self.holder.pid}",
           f"addr add 10.9.{number}.1/24 dev cable{number}", f"link set cable{number} up")
        self.ip("link set lo up", "link set enp1s0 up", f"addr add 10.9.{number}.2/24 dev enp1s0", f"route add default via 10.9.{number}.1")
        self.identity = self.ask("--show-id").stdout.strip()

    @property
    def inside(self):
        return ["nsenter", "--target", str(self.holder.pid), "--net", "--"]

    def ip(self, *lines):
        for line in lines:
            subprocess.run([*self.inside, "ip", *line.split()], check=True)

    def environment(self, state=None):
        return {**os.environ, "XDG_STATE_HOME": str(state or self.state), "NETWATCH_SOCKET": "/nonexistent", "XDG_RUNTIME_DIR": ""}

    def ask(self, *options):
        return run(*self.inside, str(PROGRAMS / "netwatch"), "mqtt", *options, env=self.environment())

    def start(self, password, state=None, user=None, host=HOST):
        file = WORK / f"password-{self.number}"
        if not file.exists() or file.read_text() != password + "\n":
            file.write_text(password + "\n")
        self.process = subprocess.Popen(
            [*self.inside, str(PROGRAMS / "netwatch"), "mqtt", f"mqtts://{host}", "--ca", str(FLEET / "ca.pem"), "--silence", "15",
             "--password-file", str(file), "--label", f"region={'north' if self.number < 2 else 'south'}",
             *(["--user", user] if user else [])],
            env=self.environment(state), stderr=open(WORK / f"errors-{self.number}", "a"))
        return self.process

    def spool(self, state=None):
        return (Path(state or self.state) / "netwatch/mqtt/spool").read_text()

    def change(self, times):
        """So many changes that the machine has a line for each."""
        for number in range(times):
            way = f"default via 10.9.{self.number}.1"
            self.ip(f"route {'del' if number % 2 == 0 else 'add'} {way}")
            time.sleep(0.05)

    def broker(self):
        """The address of the broker that it is connected to."""
        found = re.search(r"([0-9.]+):8883", run(*self.inside, "ss", "-Htn", "state", "established").stdout)
        return found and found[1]

    def cable(self, state):
        ip(f"link set cable{self.number} {state}")


def certificates():
    FLEET.mkdir(parents=True, mode=0o700)
    key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9"
    script = f"""cd {FLEET} && exec 2>&1 && openssl req -x509 {key} -keyout ca.key -out ca.pem -subj /CN=ca -addext basicConstraints=critical,CA:TRUE &&
      echo subjectAltName=IP:{HOST},IP:10.99.0.2,IP:10.99.0.3,DNS:fleet.example.org,DNS:fleet-1.example.org,DNS:fleet-2.example.org,DNS:fleet-3.example.org >names && openssl req {key} -keyout server.key -out server.csr -subj /CN=server &&
      openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key -days 9 -extfile names -out server.pem"""
    made = run("sh", "-c", script)
    if made.returncode:
        sys.exit(made.stdout)


def login(*words):
    done = run(sys.executable, "-m", "netwatch_fleet.login", "--folder", str(FLEET), *words)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.strip()


class Engine:
    """nats-server with the configuration that is shipped."""

    def __init__(self):
        text = (TOP / "contrib/examples/fleet/nats-server.conf").read_text()
        text = text.replace("/etc/netwatch", str(WORK / "etc/netwatch")).replace("/var/lib/nats", str(WORK / "jetstream"))
        self.path = WORK / "etc/nats-server.conf"
        self.path.write_text(text)
        self.start()

    def start(self):
        self.process = subprocess.Popen(["nats-server", "-c", str(self.path)], stderr=open(WORK / "engine.log", "a"))
        wait("the engine", lambda: all(f":{port}" in run("ss", "-Hltn").stdout for port in (4222, 8883)))

    def reload(self):
        before = (WORK / "engine.log").read_text().count("Reloaded server configuration")
        self.process.send_signal(signal.SIGHUP)
        wait("the new logins", lambda: (WORK / "engine.log").read_text().count("Reloaded server configuration") > before)

    def kill(self):
        self.process.kill()
        self.process.wait()


def fleet(*options):
    return [sys.executable, "-m", "netwatch_fleet", f"tls://{HOST}", "--ca", str(FLEET / "ca.pem"), "--user", "operator",
            "--password-file", str(WORK / "operator"), *options]


def once(*options):
    done = run(*fleet("--expect", str(FLEET / "machines"), *(options or ("--once",))))
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.stdout


def three_machines(engine, machines):
    page, metrics, alerts = WORK / "fleet.html", WORK / "fleet.prom", WORK / "alerts"
    # A machine comes before the first overview, so that nats-server makes the streams of MQTT itself.
    first = login("add", machines[0].identity, "machine-0", "region=north")
    engine.reload()
    came = run(*machines[0].inside, "mosquitto_pub", "-h", HOST, "-p", "8883", "--cafile", str(FLEET / "ca.pem"), "-q", "1",
               "-u", machines[0].identity, "-P", first, "-t", f"netwatch/1/{machines[0].identity}/alive", "-m", "{}")
    expect("a machine that comes before the first overview is taken", came.returncode == 0, came)
    watcher = subprocess.Popen(
        fleet("--expect", str(FLEET / "machines"), "--page", str(page), "--metrics", str(metrics), "--alerts"),
        stdout=open(alerts, "w"))
    told = lambda: [json.loads(line) for line in alerts.read_text().splitlines()]
    wait("the page", page.exists)
    passwords = {0: first, 1: login("add", machines[1].identity, "machine-1", "region=north")}
    login("add", machines[2].identity, "machine-2", "region=south")
    engine.reload()
    for machine in machines[:2]:
        machine.start(passwords[machine.number])
    text = wait("two machines", lambda: (text := once()) and "2 online" in text and text)
    expect("a machine that has a login and says nothing was never heard of", "1 never heard of" in text, text)

    pulled = time.time()
    machines[0].cable("down")
    wait("an alert", lambda: any(each["event"] == "offline" and each["machine"] == machines[0].identity for each in told()))
    expect(f"a machine without its cable is told ({time.time() - pulled:.1f} s)", time.time() - pulled < 25)
    # The page follows within two seconds.
    state = lambda: next((row[2] for row in page_rows(page) if row[1] == machines[0].identity), None)
    wait("the page", lambda: state() in ("lost", "silent"), 5)
    expect("its silence is on the page", True)
    machines[0].cable("up")
    wait("the return", lambda: any(each["event"] == "online" and each["machine"] == machines[0].identity for each in told()))
    history = wait("the history", lambda: (text := once("--history", machines[0].identity)) and "no carrier" in text and text)
    expect("its own reason comes when it is back, as one outage", history.count("\n") == 3, history)

    # Killed, and started again.
    machines[1].process.send_signal(signal.SIGKILL)
    machines[1].process.wait()
    wait("the will", lambda: any(each["event"] == "offline" and each["machine"] == machines[1].identity for each in told()), 20)
    engine.kill()
    wait("word of the engine", lambda: '"connected":false' in page.read_text())
    expect("a page without its engine says so, and calls no machine silent", not any(row[2] == "silent" for row in page_rows(page)), page_rows(page))
    for number in range(6):
        machines[0].cable("down" if number % 2 == 0 else "up")
        time.sleep(0.5)
    engine.start()
    machines[1].start(passwords[1])
    wait("two machines after the engine was killed", lambda: "2 online" in once(), 90)
    missing = [each for each in told() if each["event"] == "missing"]
    expect("the engine is killed, and no line is missing", not missing, missing)
    silent = [each for each in told() if "nothing any more" in each["sentence"]]
    expect("no machine is called silent because the engine was away", not silent, silent)

    # A machine with a login writes as another one.
    third = login("add", machines[2].identity, "machine-2")
    engine.reload()
    thief = machines[2].start(third)
    wait("three machines", lambda: "3 online" in once())
    thief.terminate()
    thief.wait()
    other = run(*machines[2].inside, "mosquitto_pub", "-h", HOST, "-p", "8883", "--cafile", str(FLEET / "ca.pem"), "-q", "1",
                "-u", machines[2].identity, "-P", third, "-t", f"netwatch/1/{machines[0].identity}/presence", "-m",
                json.dumps({"v": 1, "run": "0badbad0", "online": True, "host": "thief", "time": "2026-01-01T00:00:00.000000Z",
                            "silence": 90, "labels": {}, "version": ""}))
    expect("a machine cannot write as another", "thief" not in once() and "Publish Violation" in (WORK / "engine.log").read_text(), other)
    read = run(*machines[2].inside, "mosquitto_sub", "-h", HOST, "-p", "8883", "--cafile", str(FLEET / "ca.pem"), "-u",
               machines[2].identity, "-P", third, "-W", "3", *(word for topic in ("netwatch/#", "#", "+/#", "$JS/#", "$MQTT/#", "_INBOX/#")
                                                              for word in ("-t", topic)))
    expect("nor read what another says", read.stdout == "" and "denied" in read.stderr, read)
    login("revoke", machines[2].identity)
    engine.reload()
    gone = run(*machines[2].inside, "mosquitto_pub", "-h", HOST, "-p", "8883", "--cafile", str(FLEET / "ca.pem"), "-q", "1",
               "-u", machines[2].identity, "-P", third, "-t", f"netwatch/1/{machines[2].identity}/alive", "-m", "{}")
    expect("a login that was taken away is refused", gone.returncode != 0, gone)

    # A copy of the first machine, with its identity and its login.
    copy = WORK / "copy/netwatch/mqtt"
    copy.mkdir(parents=True, mode=0o700)
    for folder in (WORK / "copy", WORK / "copy/netwatch"):
        folder.chmod(0o700)
    (copy / "instance").write_text((machines[0].state / "netwatch/mqtt/instance").read_text())
    copied = machines[2].start(passwords[0], state=WORK / "copy", user=machines[0].identity)
    wait("the copy", lambda: any(each["event"] == "copied" and each["machine"] == machines[0].identity for each in told()))
    expect("two machines with one identity are named, and both stay connected", machines[0].process.poll() is None and copied.poll() is None)
    history = once("--history", machines[1].identity)
    expect("one that had nothing to say was not away", "silent" not in history and "lost" in history, history)
    (WORK / "wrong").write_text("wrong\n")
    begin = time.time()
    refused = run(*[str(WORK / "wrong") if each == str(WORK / "operator") else each for each in fleet("--once")])
    expect("a wrong password of the operator is told at once",
           refused.returncode == 2 and "the engine refuses the login" in refused.stderr and time.time() - begin < 10, refused)
    wait("the page", lambda: '"connected":true' in page.read_text())
    (WORK / "operator").write_text(login("add", "operator") + "\n")
    engine.reload()
    wait("word of the other login", lambda: '"connected":false' in page.read_text())
    silent = [row for row in page_rows(page) if row[2] == "silent"]
    expect("an overview whose login is not good any more says so", not silent and "2 online" in once(), silent)
    text = metrics.read_text()
    expect("there are metrics", f'netwatch_machine_up{{machine="{machines[0].identity}"' in text, text)
    watcher.send_signal(signal.SIGTERM)
    expect("the overview ends by a signal", watcher.wait(20) == 0)
    for process in (machines[0].process, machines[1].process, copied):
        process.terminate()
        process.wait()


def cluster(machine):
    """Three servers with the configuration that is shipped, each with a machine of its own. One after the other is killed."""
    addresses = ["10.99.0.1", "10.99.0.2", "10.99.0.3"]
    ip(*(f"addr add {address}/32 dev lo" for address in addresses[1:]))
    names = WORK / "hosts"
    own = [f"fleet-{place}.example.org" for place in (1, 2, 3)]
    names.write_text("".join(f"{address} fleet.example.org {name}\n" for address, name in zip(addresses, own)))
    subprocess.run(["mount", "--bind", str(names), "/etc/hosts"], check=True)
    hosts = ["fleet.example.org", *own]
    machines = [machine, *(Machine(number) for number in (4, 5, 6))]
    passwords = [login("add", each.identity, f"machine-{each.number}") for each in machines]
    (WORK / "operator").write_text(login("add", "operator") + "\n")
    for place, address in enumerate(addresses, 1):
        text = "".join((TOP / "contrib/examples/fleet" / name).read_text() for name in ("nats-server.conf", "cluster.conf"))
        text = text.replace("/etc/netwatch", str(WORK / "etc/netwatch")).replace("/var/lib/nats", str(WORK / f"cluster-{place}"))
        text = text.replace("server_name: fleet-1", f"server_name: fleet-{place}").replace("0.0.0.0", address)
        # The namespace has no name server, which nats-server waits for.
        for name, number in zip(own, addresses):
            text = text.replace(name, number)
        (WORK / f"etc/cluster-{address}.conf").write_text(text)

    def start(address):
        return subprocess.Popen(["nats-server", "-c", str(WORK / f"etc/cluster-{address}.conf")], stderr=open(WORK / "cluster.log", "a"))

    servers = {address: start(address) for address in addresses}
    url = "tls://fleet.example.org"
    command = [url if each.startswith("tls://") else each for each in fleet("--replicas", "3")]
    # A cluster elects a leader first.
    wait("the cluster", lambda: run(*command, "--once").returncode == 0, 90)
    alerts = WORK / "cluster-alerts"
    page = WORK / "cluster.html"
    watcher = subprocess.Popen([*command, "--alerts", "--page", str(page)], stdout=open(alerts, "w"), stderr=open(WORK / "cluster-errors", "w"))
    told = lambda event: [line for line in map(json.loads, alerts.read_text().splitlines()) if line["event"] == event]
    for each, password, host in zip(machines, passwords, hosts):
        each.start(password, host=host)
    # The first machine of a server may be refused some times before the server has what it keeps for MQTT.
    wait("the machines at the cluster", lambda: "4 online" in run(*command, "--once").stdout, 180)
    times = []
    for _ in range(SERVERS_KILLED):
        used = wait("its connection", machine.broker)
        servers[used].kill()
        servers[used].wait()
        begin = time.time()
        owner = machines[1 + addresses.index(used)]
        others = [each for each in machines if each is not owner]
        for each in others:
            each.change(6)
        wait("empty spools", lambda: all(each.spool() == "" and each.broker() for each in others), 90)
        times.append(time.time() - begin)
        before = len(told("offline"))
        machine.process.terminate()
        machine.process.wait()
        wait("an alert of the overview", lambda: len(told("offline")) > before, 90)
        wait("the page of the overview", lambda: '"connected":true' in page.read_text(), 90)
        machine.start(passwords[0], host=hosts[0])
        servers[used] = start(used)
        owner.change(2)
        wait("the machine of the server that is back", lambda: owner.spool() == "" and owner.broker(), 180)
    text = wait("the machines at the cluster", lambda: "4 online" in (text := run(*command, "--once").stdout) and text, 90)
    expect(f"{len(times)} times, one of three servers is killed; all lines are there {max(times):.1f} s later, and none is missing",
           not told("missing") and "lines missing" not in text, (told("missing"), text))
    watcher.terminate()
    watcher.wait()
    for each in machines:
        each.process.terminate()
        each.process.wait()
    for server in servers.values():
        server.kill()
        server.wait()


def small_site(machine):
    """mosquitto with the configuration that is shipped."""
    text = (TOP / "contrib/examples/fleet/mosquitto.conf").read_text().replace("/etc/netwatch", str(WORK / "etc/netwatch"))
    (WORK / "mosquitto.conf").write_text(text + "user root\n")
    password = login("add", machine.identity, "machine-0")
    (WORK / "operator").write_text(login("add", "operator") + "\n")
    broker = subprocess.Popen(["mosquitto", "-c", str(WORK / "mosquitto.conf")], stderr=open(WORK / "mosquitto.log", "a"))
    wait("mosquitto", lambda: ":8883" in run("ss", "-Hltn").stdout)
    machine.start(password)
    command = [each.replace("tls://", "mqtts://") for each in fleet("--once")]
    text = wait("the machine at mosquitto", lambda: "1 online" in (text := run(*command).stdout) and text)
    other = run(*machine.inside, "mosquitto_pub", "-h", HOST, "-p", "8883", "--cafile", str(FLEET / "ca.pem"), "-q", "1", "-r", "-u",
                machine.identity, "-P", password, "-t", f"netwatch/1/{'0' * 16}-{'0' * 16}/presence", "-m",
                json.dumps({"v": 1, "run": "0badbad0", "online": True, "host": "thief", "time": "2026-01-01T00:00:00.000000Z",
                            "silence": 90, "labels": {}, "version": ""}))
    expect("mosquitto takes the same machine, with the same rights", run(*command).stdout.startswith("1 machine: 1 online"), other)
    machine.process.terminate()
    machine.process.wait()
    broker.terminate()
    broker.wait()


def page_rows(path):
    found = re.search(r"const data = (\{.*\})\n", path.read_text())
    return json.loads(found[1])["rows"] if found else []


# Simulated machines


def text(value):
    return struct.pack(">H", len(value)) + value


def packet(kind, body):
    length, size = len(body), b""
    while True:
        length, digit = divmod(length, 128)
        size += bytes([digit | (128 if length else 0)])
        if not length:
            return bytes([kind]) + size + body


def stamp(ahead=0):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(time.time() + ahead))


def recording(machine):
    """The lines of a real netwatch on a bad day of its machine, in short: its cable, its address, its route, and a second way."""
    path, number, gateway = WORK / "recorded", machine.number, f"10.9.{machine.number}.1"
    follower = subprocess.Popen(
        [*machine.inside, str(PROGRAMS / "netwatch"), "--follow", "--json"], env=machine.environment(), stdout=open(path, "w"))
    count = lambda: path.read_text().count("\n")
    wait("the first line", count)
    default = f"route add default via {gateway}"
    day = [
        lambda: machine.cable("down"), lambda: machine.cable("up"),
        lambda: machine.ip(f"addr del 10.9.{number}.2/24 dev enp1s0"),
        lambda: machine.ip(f"addr add 10.9.{number}.2/24 dev enp1s0", default),
        lambda: machine.ip("link add wwan0 type veth peer name far0", "link set far0 up", "link set wwan0 up", "addr add 10.5.0.2/24 dev wwan0",
                           "route add default via 10.5.0.1 metric 700"),
        lambda: machine.ip(f"route del default via {gateway}"), lambda: machine.ip(default), lambda: machine.ip("link del wwan0")]
    while count() < LINES + len(day):
        for step in day:
            before, end = count(), time.time() + 1
            step()
            # Not each step has a line of its own.
            while count() == before and time.time() < end:
                time.sleep(0.02)
    follower.terminate()
    follower.wait()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    while lines[-1]["reachability"]["status"] == "not-reachable":
        lines.pop()
    return lines[-LINES:]


async def machine(
        number, context, user, password, turn, lines, *, kind="0", host=None, silence=90, ahead=0, version=1, more={}):
    """Connects as netwatch mqtt does, tells its lines, and waits until the engine has them.

    kind: the digit with which the identity begins. ahead: how many seconds the clock is ahead. more: what only a newer version tells.
    """
    identity, run_name = f"{kind * 4}{number:012x}-{number * 7 + 1:016x}", f"{number + 1:08x}"
    topic = f"netwatch/1/{identity}/".encode()

    def presence(is_online):
        value = {"v": version, "run": run_name, "online": is_online, "host": host or f"host{number}", "time": stamp(ahead),
                 "silence": silence, "labels": {"region": ("north", "south", "east", "west")[number % 4]}, "version": "1.0.0", **more}
        return json.dumps(value if is_online else {**value, "absence": "lost"}).encode()

    async with turn:
        reader, writer = await asyncio.open_connection(HOST, 8883, ssl=context)
        writer.write(packet(0x10, text(b"MQTT") + bytes([4, 0xEE]) + struct.pack(">H", 60) + text(f"{identity}-{run_name}".encode())
                            + text(topic + b"presence") + text(presence(False)) + text(user) + text(password)))
        answer = await reader.readexactly(4)
        assert answer[3] == 0, answer
    messages = [(b"presence", presence(True))]
    for each, line in enumerate(lines, 1):
        line = {**line, "time": stamp(ahead), **more}
        messages.append((b"line", json.dumps({"v": version, "run": run_name, "n": each, "since": line["time"], "line": line, **more}).encode()))
    for place, (kind, payload) in enumerate(messages, 1):
        writer.write(packet(0x33, text(topic + kind) + struct.pack(">H", place) + payload))
    for _ in messages:
        await reader.readexactly(4)
    return reader, writer


async def storm(count, lines, user, password):
    """All machines come at once, and all go at once. Returns the times at which the engine had everything, and lost everybody."""
    context = ssl.create_default_context(cafile=str(FLEET / "ca.pem"))
    turn = asyncio.Semaphore(200)
    begin = time.time()
    open_ones = await asyncio.gather(*(machine(number, context, user, password, turn, lines) for number in range(count)))
    there = time.time()
    print(f"          {count * (len(lines) + 1)} messages of {count} machines acknowledged in {there - begin:.1f} s", flush=True)
    await asyncio.sleep(3)
    gone = time.time()
    for _, writer in open_ones:
        writer.transport.abort()
    return there, gone


class Reader:
    """A netwatch-fleet that writes a page and alerts."""

    def __init__(self, name):
        self.page, self.alerts = WORK / f"{name}.html", WORK / f"{name}.alerts"
        self.process = subprocess.Popen(fleet("--page", str(self.page), "--alerts"), stdout=open(self.alerts, "w"))
        wait("the page", self.page.exists)

    def rows(self, kind="0"):
        return [row for row in page_rows(self.page) if row[1].startswith(kind * 4)]

    def count(self, *states):
        return sum(row[2] in states for row in self.rows())

    def is_online(self, *identities):
        return sum(row[2] == "online" and row[1] in identities for row in page_rows(self.page)) == len(identities)

    def told(self, kind="0"):
        return [each for each in self.all_told() if each["machine"].startswith(kind * 4)]

    def missing(self, *identities):
        """What is told of missing lines, by these machines, or by all of them if none is named."""
        return [each for each in self.all_told() if each["event"] == "missing" and (not identities or each["machine"] in identities)]

    def all_told(self):
        return [json.loads(line) for line in self.alerts.read_text().splitlines()]

    def end(self):
        self.process.terminate()
        self.process.wait()


def login_of_all(engine):
    """One login for all simulated machines, because making 10,000 takes longer than their storm."""
    import bcrypt

    path = FLEET / "nats-logins.conf"
    hashed = bcrypt.hashpw(b"simulated", bcrypt.gensalt(4, b"2a")).decode()
    path.write_text(path.read_text().replace("users: [\n", f'users: [\n      {{ user: "simulated", password: "{hashed}" }}\n'))
    engine.reload()
    return b"simulated", b"simulated"


def simulated(engine, count, lines, user, password):
    reader, slow = Reader("many"), Reader("slow")
    # It reads nothing while the storm lasts.
    slow.process.send_signal(signal.SIGSTOP)
    seen = {}

    def count_of(state):
        number = reader.count(state)
        if number >= count and state not in seen:
            seen[state] = time.time()
        return number

    async def both():
        task = asyncio.create_task(storm(count, lines, user, password))
        for state in ("online", "lost"):
            end = time.time() + 300
            while await asyncio.to_thread(count_of, state) < count:
                assert time.time() < end, f"only {count_of(state)} are {state}"
                await asyncio.sleep(0.05)
        return await task

    there, gone = asyncio.run(both())
    expect(f"the page has all of {count} machines {max(0.0, seen['online'] - there):.1f} s after the engine has the last line",
           seen["online"] - there < 2.0)
    print(f"          all of them are lost on the page {seen['lost'] - gone:.1f} s after their connections", flush=True)
    told = [each["event"] for each in reader.told()]
    expect("each loss is told once", told.count("offline") == count, told.count("offline"))
    expect("no line is missing", told.count("missing") == 0)
    memory = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{engine.process.pid}/status").read_text())[1])
    own = int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{reader.process.pid}/status").read_text())[1])
    disk = sum(each.stat().st_size for each in (WORK / "jetstream").rglob("*") if each.is_file())
    print(f"          the engine: {memory / 1024:.0f} MB of memory, {disk / 1e6:.0f} MB on the disk; the overview: {own / 1024:.0f} MB", flush=True)
    slow.process.send_signal(signal.SIGCONT)
    begin = time.time()
    wait("the slow reader", lambda: slow.count("lost") == count, 120)
    missing = [each for each in slow.told() if each["event"] == "missing"]
    expect(f"a reader that was stopped during the storm has everything {time.time() - begin:.1f} s later", not missing, missing)
    reader.end()
    slow.end()


def strange(lines, user, password):
    """Machines with a wrong clock, with one name, of other versions, and one whose connection lives and that says nothing."""
    reader = Reader("strange")
    context = ssl.create_default_context(cafile=str(FLEET / "ca.pem"))
    newer = {"battery": {"percent": 50}, "moods": ["sunny"], "online_since": 7}
    kinds = {
        "ahead": {"ahead": 86_400}, "behind": {"ahead": -86_400}, "twin": {"host": "twin"}, "other twin": {"host": "twin"},
        "newer": {"more": newer}, "next": {"version": 2}, "silent": {"silence": 15}}

    async def all_of_them():
        turn = asyncio.Semaphore(200)
        begin = time.time()
        connections = await asyncio.gather(*(
            machine(number, context, user, password, turn, lines, kind="f", **{"host": name, **more})
            for number, (name, more) in enumerate(kinds.items())))

        def silent():
            return next((each for each in reader.told("f") if each["event"] == "offline" and each["host"] == "silent"), None)

        end = time.time() + 60
        while not silent() and time.time() < end:
            for _, writer in connections:
                # The connection is there, and the broker hears of it.
                writer.write(packet(0xC0, b""))
            await asyncio.sleep(0.2)
        return begin, silent(), [writer for _, writer in connections]

    begin, told, _writers = asyncio.run(all_of_them())
    expect(f"a machine that says nothing is offline {told['time'] - begin:.1f} s after its last word, although its connection lives",
           told and 15 <= told["time"] - begin < 20, told)
    rows = {row[0]: row for row in reader.rows("f")}
    text = once()
    expect("a clock that is a day ahead or behind is named", all(
        f"its clock is 1 d 0 h {side}" in rows[side][9] or f"its clock is 23 h 59 min {side}" in rows[side][9] for side in ("ahead", "behind")), rows)
    expect("and makes no wrong times", all(abs(rows[side][3] - begin) < 120 for side in ("ahead", "behind")), rows)
    expect("two machines of one name are two", sum(row[0] == "twin" for row in reader.rows("f")) == 2, rows)
    expect("a newer version that tells more is understood", "newer" in rows and rows["newer"][9] == [], rows)
    expect("one whose messages are of another version is said to be not understood", "next" not in rows and "messages were not understood" in text, text)
    reader.end()


def region(engine, home, user, count=20):
    """A region of real programs loses the engine, and comes back at once."""
    reader = Reader("region")
    states = [WORK / f"region-{number}" for number in range(count)]
    for state in states:
        state.mkdir(mode=0o700)
    programs = [home.start("simulated", state=state, user=user.decode()) for state in states]
    files = [state / "netwatch/mqtt/instance" for state in states]
    wait("the region", lambda: all(file.exists() for file in files))
    mine = [file.read_text().strip() for file in files]
    wait("the region", lambda: reader.is_online(*mine))
    engine.kill()
    home.change(10)
    wait("the spools", lambda: all(home.spool(state).count("\n") >= 5 for state in states))
    engine.start()
    begin = time.time()
    wait("the region's lines", lambda: not any(home.spool(state) for state in states), 120)
    lines = time.time() - begin
    wait("the region on the page", lambda: reader.is_online(*mine))
    missing = reader.missing(*mine)
    expect(f"{count} programs have told their outage {lines:.1f} s after the engine is back, and no line is missing", not missing, missing)
    for program in programs:
        program.terminate()
    for program in programs:
        program.wait()
    reader.end()


def full_disk(engine, home, user):
    """The engine's disk has no room, and later it has."""
    engine.kill()
    store = WORK / "jetstream"
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(store)], check=True)
    engine.start()
    reader = Reader("full")
    program = home.start("simulated", user=user.decode())
    wait("the machine", lambda: reader.is_online(home.identity))
    filler = store / "filler"
    with open(filler, "wb", 0) as file:
        try:
            while file.write(b"x" * 4096):
                pass
        except OSError:
            pass
    home.change(20)
    waiting = home.spool().count("\n")
    filler.unlink()
    # nats-server 2.9 does not go on by itself.
    engine.kill()
    engine.start()
    wait("the lines of the full disk", lambda: home.spool() == "", 120)
    wait("the machine", lambda: reader.is_online(home.identity))
    missing = reader.missing()
    expect(f"{waiting} lines waited while the engine's disk was full, and none is missing", waiting > 0 and not missing, missing)
    program.terminate()
    program.wait()
    reader.end()


def main():
    ip("link set lo up", f"addr add {HOST}/32 dev lo")
    certificates()
    (WORK / "operator").write_text(login("add", "operator") + "\n")
    engine = Engine()
    print("Three machines", flush=True)
    machines = [Machine(number) for number in range(3)]
    three_machines(engine, machines)
    if MACHINES:
        print(f"{MACHINES} machines", flush=True)
        lines = recording(machines[2])
        simulated_login = login_of_all(engine)
        simulated(engine, MACHINES, lines, *simulated_login)
        print("Strange machines", flush=True)
        strange(lines, *simulated_login)
        region(engine, machines[2], simulated_login[0])
        full_disk(engine, machines[2], simulated_login[0])
    engine.kill()
    if HAS_CLUSTER:
        print("A cluster", flush=True)
        cluster(machines[0])
    print("A small site", flush=True)
    small_site(machines[0])
    sys.exit(1 if failures else 0)


main()
