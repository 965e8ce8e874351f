"""netwatch-fleet and netwatch-fleet-login as a user who makes mistakes runs them."""
import stat
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ONE = "ad9540d9c7755d2b-6114afaab64fc1bb"


def run(module, *words):
    return subprocess.run([sys.executable, "-m", module, *words], capture_output=True, text=True, timeout=60)


class Mistakes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_a_mistake_gets_one_sentence(self):
        (self.folder / "empty").write_text("")
        (self.folder / "binary").write_bytes(b"\xff\xfe")
        for words, sentence in [
                ([], "the following arguments are required: engine; netwatch-fleet --help explains all options."),
                (["http://a"], "Write the engine as nats://HOST"), (["nats://[::1"], "Write the engine as nats://HOST"),
                (["mqtt://a:99999"], "Write the engine as nats://HOST"),
                (["nats://a", "--since", "x"], "--since needs a number with m, h, d or w behind it, such as 7d."),
                (["nats://a", "--password-file", str(self.folder / "empty")], "has no password in its first line"),
                (["nats://a", "--expect", str(self.folder / "binary")], ":1: write an identity first"),
                (["nats://a", "--such"], "unrecognized arguments: --such")]:
            done = run("netwatch_fleet", *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)
            self.assertIn(sentence, done.stderr)

    def test_a_login_is_for_its_owner_alone(self):
        logins, output = self.folder / "fleet", self.folder / "password"
        done = run("netwatch_fleet.login", "--folder", str(logins), "add", "operator", "--output", str(output))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertGreater(len(output.read_text()), 30)
        for path in [output, *logins.iterdir()]:
            self.assertEqual(stat.S_IMODE(path.stat().st_mode) & 0o077, 0, path)
        # The group of the folder is that of the engine.
        logins.chmod(0o750)
        run("netwatch_fleet.login", "--folder", str(logins), "add", ONE, "cellar", "region=north")
        self.assertEqual(stat.S_IMODE((logins / "nats-logins.conf").stat().st_mode), 0o640)
        self.assertEqual(run("netwatch_fleet.login", "--folder", str(logins), "list").stdout, f"{ONE} cellar region=north\n")
        self.assertEqual(run("netwatch_fleet.login", "--folder", str(logins), "revoke", ONE).returncode, 0)
        self.assertEqual(run("netwatch_fleet.login", "--folder", str(logins), "list").stdout, "")
        for words in (["add", "../../x"], ["revoke", ONE], ["add", ONE, "a b"]):
            done = run("netwatch_fleet.login", "--folder", str(logins), *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (64, 1), done.stderr)

    def test_a_password_that_cannot_be_written_changes_no_login(self):
        logins = self.folder / "fleet"
        run("netwatch_fleet.login", "--folder", str(logins), "add", "operator", "--output", str(self.folder / "password"))
        before = (logins / "nats-logins.conf").read_text()
        done = run("netwatch_fleet.login", "--folder", str(logins), "add", "operator", "--output", "/nonexistent/password")
        self.assertEqual((done.returncode, done.stderr.count("\n")), (2, 1), done.stderr)
        self.assertIn("/nonexistent/password", done.stderr)
        self.assertEqual((logins / "nats-logins.conf").read_text(), before)

    def test_authorities_that_cannot_be_read_are_named(self):
        (self.folder / "empty.pem").write_text("")
        for path, reason in [("/nonexistent.pem", "No such file or directory"), (self.folder / "empty.pem", "it has no certificate")]:
            done = run("netwatch_fleet", "tls://127.0.0.1:1", "--once", "--ca", str(path))
            self.assertEqual((done.returncode, done.stderr), (64, f"Error: The authorities in {path} cannot be used: {reason}.\n"))

    def test_two_at_once_forget_nobody(self):
        identities = [f"{each:016x}-{each:016x}" for each in range(8)]
        children = [subprocess.Popen(
            [sys.executable, "-m", "netwatch_fleet.login", "--folder", str(self.folder / "fleet"), "add", each],
            stdout=subprocess.DEVNULL) for each in identities]
        self.assertEqual([child.wait(60) for child in children], [0] * 8)
        self.assertEqual(run("netwatch_fleet.login", "--folder", str(self.folder / "fleet"), "list").stdout.split(), identities)


if __name__ == "__main__":
    unittest.main()
