"""Runs the tests of a build, shows which run, and names and ends one that hangs.

    python3 contrib/test.d/run.py [--strict] TESTS [FILTER]

TESTS is the program of the tests. FILTER is a regular expression for their whole names, such as Module.Suite/`name`(). --strict
makes a test that is skipped a failure.

A suite has a process of its own, in which one test runs after the other: what a test waits for cannot hold up another one, and
it is known which test runs. Several processes run at once. A test has a minute for each of its cases, which NETWATCH_TEST_PATIENCE
multiplies. One that takes longer is named and ended with its process, and the rest of its suite goes on in a new one. At the end,
all tests that there are must have run.
"""
import json
import os
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = 60 * float(os.environ.get("NETWATCH_TEST_PATIENCE") or 1)
# Most tests wait more than they compute, so three run for each processor.
AT_ONCE = 3 * (os.cpu_count() or 1)
# These tests need a kernel of their own. `contrib/verify guest` runs them.
GUEST = "^IntegrationTests\\.Guest"
# The suites of these modules take milliseconds, and a process takes a fifth of a second to start, so several suites
# share a process.
TOGETHER, SMALL = 8, re.compile("^Netwatch(?!HTTPTests)")
PLACE = re.compile(r"/[^/]+\.swift:\d+:\d+$")


# This variable is in the environment of all programs that tests start, so that they can be found afterwards.
MARK = f"NETWATCH_TEST_RUN={os.getpid()}"


def end_orphans():
    """Ends what tests have started and left behind: a test that is ended cannot clean up."""
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/environ", "rb") as variables:
                if MARK.encode() in variables.read().split(b"\0"):
                    os.kill(int(process), signal.SIGKILL)
        except OSError:
            pass


def suite_of(test):
    return test.split("/", 1)[0]


class Report:
    """What has happened so far, and how a person sees it."""

    def __init__(self, tests, folder):
        self.tests, self.ended, self.failed, self.skipped, self.running = set(tests), set(), {}, {}, {}
        self.left, self.seconds = {}, {}
        for test in tests:
            self.left[suite_of(test)] = self.left.get(suite_of(test), 0) + 1
        self.suites, self.began = len(self.left), time.monotonic()
        self.lock, self.is_terminal, self.log = threading.RLock(), sys.stdout.isatty(), os.path.join(folder, "tests.log")
        open(self.log, "w").close()

    def say(self, text):
        with self.lock:
            print(("\r\033[K" if self.is_terminal else "") + text, flush=True)
            self.show()

    def show(self):
        """Says in one line what runs. Only a terminal can take a line back."""
        if self.is_terminal:
            with self.lock:
                now = sorted({suite_of(test).split(".", 1)[1] for test in self.running})
                minutes, seconds = divmod(int(time.monotonic() - self.began), 60)
                text = f"{len(self.ended)} of {len(self.tests)} tests, {minutes}:{seconds:02}: {', '.join(now)}"
                print("\r\033[K" + text[: os.get_terminal_size().columns - 1], end="", flush=True)

    def has_begun(self, test, case=""):
        """A test has begun, or one of its cases; whose words name the arguments."""
        with self.lock:
            self.count(test)
            self.running[test] = (time.monotonic(), case)
            self.show()

    def count(self, test):
        if test in self.running:
            suite, seconds = suite_of(test), time.monotonic() - self.running.pop(test)[0]
            self.seconds[suite] = self.seconds.get(suite, 0) + seconds

    def has_ended(self, test):
        with self.lock:
            suite = suite_of(test)
            self.count(test)
            if test in self.tests - self.ended:
                self.ended.add(test)
                self.left[suite] -= 1
                if not self.left[suite]:
                    done = sum(1 for left in self.left.values() if not left)
                    self.say(f"{done:4} of {self.suites}  {suite} ({self.seconds.get(suite, 0):.1f} s)")

    def has_failed(self, test, text):
        with self.lock:
            self.failed[test] = text
            self.say(f"FAILED  {test}\n" + "\n".join("        " + line for line in text.splitlines()))


class Suites:
    """Suites that share a process. The process that ends a hanging test is followed by another one."""

    def __init__(self, program, tests, report):
        self.program, self.tests, self.report, self.process, self.is_ended = program, tests, report, None, False

    def run(self):
        while (left := self.tests - self.report.ended) and not self.is_ended:
            status, said = self.run_once(left)
            with self.report.lock:
                running = {test: case for test, (_, case) in self.report.running.items() if test in left}
            for test, case in running.items():
                if status is None and not self.is_ended:
                    self.report.has_failed(test, f"has not ended after {LIMIT:.0f} s, and was ended\n{case or said}")
                elif not self.is_ended:
                    self.report.has_failed(test, f"the process has ended with {status}\n{said}")
                self.report.has_ended(test)
            # A process may still crash at its end, and a sanitizer then reports what it has found. A process that
            # reports no result of any test would fail again in the same way.
            is_bad = status and not left & self.report.failed.keys()
            if not running and (is_bad or left == self.tests - self.report.ended):
                self.report.has_failed(", ".join(sorted({suite_of(test) for test in left})), f"the process has ended with {status}\n{said}")
                return

    def run_once(self, left):
        """Returns the exit status, or None if the process was ended; and the end of what it has said."""
        wanted = {suite_of(test) for test in left}
        reader, writer = os.pipe()
        command = [self.program, "--testing-library", "swift-testing", "--no-parallel",
                   "--event-stream-output-path", f"/dev/fd/{writer}", "--event-stream-version", "0"]
        for suite in sorted(wanted):
            command += ["--filter", f"^{re.escape(suite)}/"]
        for test in sorted(test for test in self.tests - left if suite_of(test) in wanted):
            command += ["--skip", f"^{re.escape(test)}"]
        output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, pass_fds=[writer],
                                        start_new_session=True, env={**os.environ, **dict([MARK.split("=")])})
        os.close(writer)
        events = threading.Thread(target=self.read, args=[reader], daemon=True)
        events.start()
        status = None
        while True:
            try:
                status = self.process.wait(0.2)
                break
            except subprocess.TimeoutExpired:
                now = time.monotonic()
                with self.report.lock:
                    hangs = any(test in left and now - began > LIMIT for test, (began, _) in self.report.running.items())
                if hangs:
                    self.end()
                    break
        # Programs that the tests have started may still run and keep the pipe open.
        events.join(5)
        output.seek(0)
        said = output.read()
        output.close()
        with self.report.lock, open(self.report.log, "ab") as log:
            log.write(said)
        return status, "\n".join(said.decode(errors="replace").splitlines()[-20:])

    def read(self, reader):
        issues = {}
        with open(reader, errors="replace") as events:
            for line in events:
                record = json.loads(line)
                event = record["payload"]
                test = PLACE.sub("", event.get("testID", ""))
                if record["kind"] != "event" or "/" not in test:
                    continue
                kind, text = event["kind"], "\n".join(message["text"] for message in event.get("messages", []))
                if kind == "testStarted":
                    self.report.has_begun(test)
                elif kind == "testCaseStarted":
                    self.report.has_begun(test, text)
                elif kind == "issueRecorded" and not event.get("issue", {}).get("isKnown"):
                    place = event.get("issue", {}).get("sourceLocation") or {}
                    issues.setdefault(test, []).append(f"{place.get('fileID', '')}:{place.get('line', '')}: {text}")
                elif kind == "testSkipped":
                    self.report.skipped[test] = text
                    self.report.has_ended(test)
                elif kind == "testEnded":
                    if test in issues:
                        self.report.has_failed(test, "\n".join(issues[test]))
                    self.report.has_ended(test)

    def end(self):
        if self.process and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


def main():
    arguments = sys.argv[1:]
    is_strict = arguments[:1] == ["--strict"]
    program, *filters = arguments[is_strict:]
    program, folder = os.path.realpath(program), os.path.dirname(os.path.realpath(program))
    there = subprocess.run([program, "--testing-library", "swift-testing", "--list-tests"], stdout=subprocess.PIPE, text=True, check=True)
    wanted = re.compile(filters[0] if filters else "")
    tests = {name for name in there.stdout.split("\n") if "/" in name and not re.search(GUEST, name) and wanted.search(name)}
    if not tests:
        sys.exit(f"netwatch: no test has a name that matches {filters[0]}.")
    report = Report(tests, folder)

    # The tests that took longest in the last run come first, so that no long test runs alone at the end.
    times_file = os.path.join(folder, "tests.json")
    try:
        with open(times_file) as file:
            times = json.load(file)
    except (OSError, ValueError):
        times = {}
    parts, small = [], {}
    for suite in sorted(report.left):
        part = {test for test in tests if suite_of(test) == suite}
        if SMALL.match(suite) and times.get(suite, 0) < 2:
            small.setdefault(suite.split(".")[0], []).append(part)
        else:
            parts.append(part)
    for several in small.values():
        parts += [set().union(*several[i:i + TOGETHER]) for i in range(0, len(several), TOGETHER)]
    parts.sort(key=lambda part: -sum(times.get(suite, len(part)) for suite in {suite_of(test) for test in part}))
    waiting, running = queue.SimpleQueue(), set()
    for part in parts:
        waiting.put(Suites(program, part, report))

    def work():
        while True:
            try:
                suites = waiting.get_nowait()
            except queue.Empty:
                return
            running.add(suites)
            suites.run()
            running.discard(suites)

    def interrupt(*_):
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)
    workers = [threading.Thread(target=work, daemon=True) for _ in range(AT_ONCE)]
    try:
        for worker in workers:
            worker.start()
        for worker in workers:
            while worker.is_alive():
                worker.join(1)
                report.show()
    except KeyboardInterrupt:
        while not waiting.empty():
            waiting.get_nowait()
        for suites in list(running):
            suites.is_ended = True
            suites.end()
        end_orphans()
        sys.exit(130)
    end_orphans()
    for test in sorted(tests - report.ended):
        report.has_failed(test, "has not run")
    for test, why in sorted(report.skipped.items()):
        report.say(f"skipped {test}: {why}")
    with open(times_file, "w") as file:
        json.dump({**times, **report.seconds}, file)
    report.say(f"{len(report.ended) - len(report.skipped)} tests have run in {time.monotonic() - report.began:.0f} s, "
               f"{len(report.skipped)} were skipped, {len(report.failed)} have failed"
               + (f"; {report.log} has their output" if report.failed else ""))
    sys.exit(1 if report.failed or is_strict and report.skipped else 0)


main()
