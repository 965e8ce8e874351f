"""Writes 500 generated files of rules, and compares what the six front ends and an independent reading of them say.

rules.py FOLDER SEED COUNT COMMAND…: FOLDER is mounted on /etc/netwatch. A COMMAND is one word with the words of a front end in it:
first `netwatch`, then programs that print a verdict for each line of their standard input.
"""

import fnmatch
import json
import os
import random
import shlex
import shutil
import socket
import subprocess
import sys
import time

NAMES = ["enp1s0", "usb0", "ppp1"]
PATTERNS = ["*", "enp*", "usb?", "[eu]*", "[!p]*", "ppp[0-9]", "p*1", "enp1s0", "usb0", "ppp1", "wlan*", "[a-d]*", "?"]
STATUSES = {"unknown": -1, "not-reachable": 0, "wwan": 1, "wifi": 2}
BROKEN = [
    "meterd interface usb0", "metered usb0", 'modem "usb0', 'modem "usb0"x', 'modem "\\q"', "metered interface", "no", "link-local now",
    "probe usb0", 'constrained ssid ""', "modem usb0 ppp1", 'ignore us"b0', "\x1b[31m", "constrained", "metered ssid",
]


def quoted(name):
    """A name in double quotes, with some of its bytes in hexadecimal."""
    return '"' + "".join(f"\\x{ord(letter):02x}" if random.random() < 0.2 else letter for letter in name) + '"'


def glob():
    """The text of a name, and whether it matches another name."""
    if random.random() < 0.3:
        name = random.choice(NAMES)
        return quoted(name), lambda other: other == name
    if random.random() < 0.1:
        return '"*"', lambda other: False
    pattern = random.choice(PATTERNS)
    return pattern, lambda other: fnmatch.fnmatchcase(other, pattern)


def statement():
    """The text of a statement, and what it is about."""
    kind = random.choice(["metered", "not-metered", "constrained"] * 3 + ["modem"] * 2 + ["tunnel", "ignore", "link-local", "probe"])
    if kind == "link-local":
        return kind, (kind, None)
    if kind == "probe":
        return "probe http://127.0.0.1:1/", (kind, None)
    text, matches = glob()
    if kind in ("modem", "tunnel", "ignore"):
        return f"{kind} {text}", (kind, matches)
    if random.random() < 0.2:
        return f"{kind} ssid {text}", ("other", None)
    return f"{kind} interface {text}", (kind, matches)


def generate(folder):
    """Writes files, and returns the statements that count, in their order, and whether a line is broken."""
    shutil.rmtree(f"{folder}/rules.d", ignore_errors=True)
    os.makedirs(f"{folder}/rules.d")
    counted, is_broken = [], False
    names = ["rules"] + [f"rules.d/{number}" for number in sorted(random.sample(range(10, 99), random.choice([0, 0, 1, 3])))]
    for name in names:
        lines = []
        for _ in range(random.choice([0, 1, 2, 4, 8])):
            chance = random.random()
            if chance < 0.1:
                is_broken = True
                lines.append(random.choice(BROKEN))
            elif chance < 0.2:
                lines.append(random.choice(["", "# metered interface *", "  \t", "#"]))
            elif chance < 0.35 and counted:
                # A pattern without a special character is the same entry as a name, so `no` is written only for such
                # texts.
                text, _ = random.choice(counted)
                if '"' in text or any(sign in text for sign in "*?["):
                    lines.append(f"no {text}")
                    same = spelled(text)
                    counted = [entry for entry in counted if spelled(entry[0]) != same]
            else:
                text, meaning = statement()
                counted.append((text, meaning))
                comment = random.choice(["", "", " # why", "\t#"])
                lines.append(random.choice(["", " ", "\t"]) + text.replace(" ", random.choice([" ", "  ", "\t"])) + comment)
        ending = random.choice(["\n", "\n", "\r\n"])
        with open(f"{folder}/{name}", "w", newline="") as file:
            file.write(random.choice(["", "", "\ufeff"]) + ending.join(lines) + random.choice(["", ending]))
    # Files with a ~ at the end, which editors leave behind, must be ignored.
    if random.random() < 0.2:
        with open(f"{folder}/rules.d/10~", "w") as file:
            file.write("metered interface *\n")
    return [meaning for _, meaning in counted], is_broken


def spelled(text):
    """A statement without the ways to write the same name: a quoted name is what its pattern without signs would be."""
    head, _, name = text.rpartition(" ")
    if name.startswith('"'):
        plain = name[1:-1].encode().decode("unicode_escape")
        return head, plain, plain if any(sign in plain for sign in "*?[") else None
    return head, name, None


def expected(meanings, carrier):
    """What the statements say of a link; None if they change which link carries the traffic."""
    def said(kind):
        return any(matches(carrier) for other, matches in meanings if other == kind)

    if said("tunnel") or said("ignore"):
        return None
    is_modem = said("modem")
    because = "modem" if is_modem else "-"
    for kind, matches in reversed(meanings):
        if kind in ("metered", "not-metered") and matches(carrier):
            because = "rule" if kind == "metered" else "-"
            break
    return (1 if is_modem else 2, "wwan" if is_modem else "virtual", carrier, because, "1" if said("constrained") else "0")


def verdict(line):
    """The verdict in a line of the stream."""
    path = json.loads(line)["reachability"]
    if path["interface"] is None:
        return (STATUSES[path["status"]], "-", "-", "-", "-")
    return (
        STATUSES[path["status"]], path["medium"], path["interface"],
        path["expensive_because"] or "unknown" if path["expensive"] else "-",
        "1" if path.get("constrained") else "0",
    )


class Service:
    def __init__(self, netwatch, folder):
        self.path = f"{folder}/../service"
        self.words = [*netwatch, "serve", "--socket", self.path]

    def ask(self):
        process = subprocess.Popen(self.words, stderr=subprocess.DEVNULL)
        try:
            for _ in range(500):
                try:
                    with socket.socket(socket.AF_UNIX) as client:
                        client.connect(self.path)
                        return verdict(client.makefile().readline())
                except OSError:
                    time.sleep(0.01)
            raise RuntimeError("the service does not answer")
        finally:
            process.kill()
            process.wait()


class Loop:
    """A program that prints a verdict for each line that it gets."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        words = self.process.stdout.readline().split()
        return (int(words[0]), *words[1:5]), words[5]


def main():
    folder, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    netwatch, *programs = [shlex.split(words) for words in sys.argv[4:]]
    random.seed(seed)
    service = Service(netwatch, folder)
    loops = [Loop(words) for words in programs]
    judged = faults = failures = 0
    for number in range(count):
        meanings, is_broken = generate(folder)
        carrier = random.choice(NAMES)
        subprocess.run(["ip", "route", "replace", "default", "via", f"10.{NAMES.index(carrier)}.0.2"], check=True)
        command = subprocess.run([*netwatch, "-f", "--json", "--count", "1", "--no-service"], capture_output=True, text=True)
        found = {"command": verdict(command.stdout), "service": service.ask()}
        for words, loop in zip(programs, loops):
            found[words[0]], fault = loop.ask()
            if (fault == "fault") != is_broken:
                failures += 1
                print(f"{number}: {words[0]} says {fault} of broken lines", file=sys.stderr)
        if ("/etc/netwatch/" in command.stderr) != is_broken:
            failures += 1
            print(f"{number}: the command says '{command.stderr}' of broken lines", file=sys.stderr)
        truth = expected(meanings, carrier)
        if truth is not None:
            judged += 1
            found["an independent reading"] = truth
        faults += is_broken
        if len(set(found.values())) > 1:
            failures += 1
            print(f"{number}: {found}", file=sys.stderr)
            for root, _, names in os.walk(folder):
                for name in names:
                    with open(os.path.join(root, name)) as file:
                        print(f"--- {name}\n{file.read()}", file=sys.stderr)
    print(f"{count} files, {faults} with a broken line, {judged} judged by an independent reading too: {failures} differences")
    sys.exit(1 if failures else 0)


main()
