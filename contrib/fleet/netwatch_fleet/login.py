"""The command netwatch-fleet-login: makes and revokes the login of each machine, for nats-server and for mosquitto."""
from __future__ import annotations

import argparse
import base64
import fcntl
import hashlib
import json
import os
import secrets
import sys
from pathlib import Path

from .source import SIGNS, STREAM, UsageError
from .state import IDENTITY

OPERATOR = "operator"
# Passwords are random and long, so an expensive hash would protect nothing more; and 10,000 machines that come back at once would
# keep the engine busy for minutes.
BCRYPT_ROUNDS = 4
PBKDF2_ROUNDS = 101


class Logins:
    """The logins in a folder that only its owner can read."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.path = folder / "logins.json"
        # Two at a time would each forget what the other one makes.
        self.lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.logins: dict = json.loads(self.path.read_text()) if self.path.exists() else {}

    def add(self, name: str, host: str, labels: list[str]) -> str:
        """Gives a machine or the operator a login, or a new password. Returns the password."""
        try:
            import bcrypt
        except ImportError:
            raise UsageError("bcrypt is missing; install it with: pip install bcrypt") from None
        password = secrets.token_urlsafe(24)
        salt = secrets.token_bytes(12)
        pbkdf2 = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, PBKDF2_ROUNDS)
        old = self.logins.get(name, {})
        self.logins[name] = {
            "host": host or old.get("host", ""), "labels": labels or old.get("labels", []),
            "nats": bcrypt.hashpw(password.encode(), bcrypt.gensalt(BCRYPT_ROUNDS, b"2a")).decode(),
            "mosquitto": f"$7${PBKDF2_ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(pbkdf2).decode()}"}
        return password

    def revoke(self, name: str) -> None:
        if self.logins.pop(name, None) is None:
            raise UsageError(f"There is no login {name}; netwatch-fleet-login list shows them.")

    def write(self) -> None:
        """Writes the logins for both engines, each file whole or not at all."""
        self._replace(self.path, json.dumps(self.logins, indent=1, sort_keys=True) + "\n")
        self._replace(self.folder / "nats-logins.conf", self.nats())
        self._replace(
            self.folder / "mosquitto-logins", "".join(f"{name}:{login['mosquitto']}\n" for name, login in sorted(self.logins.items())))
        self._replace(
            self.folder / "mosquitto-rights", f"user {OPERATOR}\ntopic read netwatch/#\n\n" + "".join(
                f"pattern write netwatch/1/%u/{kind}\n" for kind in ("line", "presence", "alive")))
        self._replace(self.folder / "machines", "".join(
            " ".join([name, login["host"], *login["labels"]]).strip() + "\n"
            for name, login in sorted(self.logins.items()) if name != OPERATOR))

    def nats(self) -> str:
        """Accounts of nats-server: each machine writes its own topics alone; the operator reads, and makes the streams."""
        users = []
        for name, login in sorted(self.logins.items()):
            if name == OPERATOR:
                calls = ["$JS.API.INFO", "$JS.FC.>"] + [f"$JS.API.{call}" for stream in (STREAM, SIGNS) for call in (
                    f"STREAM.INFO.{stream}", f"STREAM.CREATE.{stream}", f"CONSUMER.*.{stream}", f"CONSUMER.*.{stream}.>")]
                # nats-server's own stream makes room for one that keeps what has come.
                calls.append(f"$JS.API.STREAM.DELETE.{STREAM}")
                rights = f'permissions: {{ publish: {json.dumps(calls)}, subscribe: "_INBOX.>" }}'
            else:
                # Whoever may subscribe to anything may subscribe to everything, by wildcards.
                topics = [f"netwatch.1.{name}.{kind}" for kind in ("line", "presence", "alive")]
                rights = (f'allowed_connection_types: ["MQTT"], permissions: {{ publish: {json.dumps(topics)}, '
                          'subscribe: { deny: ">" } }')
            users.append(f'      {{ user: "{name}", password: "{login["nats"]}", {rights} }}\n')
        return "accounts {\n  FLEET {\n    jetstream: enabled\n    users: [\n" + "".join(users) + "    ]\n  }\n}\n"

    def _replace(self, path: Path, text: str) -> None:
        draft = path.with_name(path.name + ".new")
        draft.unlink(missing_ok=True)
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        # The engine runs as a user of its own, and reads the files by the group of the folder.
        if self.folder.stat().st_mode & 0o070:
            os.fchown(descriptor, -1, self.folder.stat().st_gid)
            os.fchmod(descriptor, 0o640)
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)


def parser() -> argparse.ArgumentParser:
    result = argparse.ArgumentParser(
        prog="netwatch-fleet-login", description="Makes and revokes the logins of machines, for nats-server and for mosquitto.",
        epilog="The engine reads the files when it is told to: systemctl reload nats-server, or systemctl reload mosquitto.")
    result.add_argument("--folder", default="/etc/netwatch/fleet", help="where the logins are (default: /etc/netwatch/fleet)")
    commands = result.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add", help="make a login, or give it a new password, which is printed once")
    add.add_argument("name", help=f"the identity that netwatch mqtt --show-id prints, or {OPERATOR}")
    add.add_argument("host", nargs="?", default="", help="the name of the host, for the inventory")
    add.add_argument("--output", metavar="FILE", help="write the password into this file, which only you can read")
    add.add_argument("labels", nargs="*", help="labels for the inventory, such as region=north")
    revoke = commands.add_parser("revoke", help="take the login away")
    revoke.add_argument("name")
    commands.add_parser("list", help="print the inventory")
    return result


def main() -> int:
    try:
        options = parser().parse_args()
    except SystemExit as ending:
        return 64 if ending.code else 0
    try:
        logins = Logins(Path(options.folder))
        if options.command == "list":
            machines = logins.folder / "machines"
            print(machines.read_text() if machines.exists() else "", end="")
            return 0
        if options.name != OPERATOR and not IDENTITY.fullmatch(options.name):
            raise UsageError(f"{options.name} is no identity; netwatch mqtt --show-id prints that of a machine.")
        if options.command == "add":
            for word in [options.host, *options.labels]:
                if len(word.split()) > 1 or "#" in word:
                    raise UsageError("Write the host and each label without spaces.")
            password = logins.add(options.name, options.host, options.labels)
            # A password that cannot be written changes no login.
            if options.output:
                descriptor = os.open(options.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
                os.fchmod(descriptor, 0o600)
                os.write(descriptor, (password + "\n").encode())
                os.close(descriptor)
            logins.write()
            if not options.output:
                print(password)
        else:
            logins.revoke(options.name)
            logins.write()
        return 0
    except UsageError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 64
    except (OSError, ValueError) as error:
        print(f"netwatch-fleet-login: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
