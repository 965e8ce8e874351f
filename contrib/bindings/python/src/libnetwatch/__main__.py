"""Prints the state, then a line of JSON for each change, until the reader of standard output has closed it.

    python -m libnetwatch [NAME=VALUE]...

The options are those of `netwatch`, without the dashes: `target=10.1.2.3`, `interface=wl*`, `no-service`. The exit status is 0 if
the reader has closed standard output, 64 if an option is wrong, and 2 if the network cannot be watched.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import sys

from libnetwatch import Monitor, NetwatchError, Path


def show(path: Path) -> None:
    print(path.line, flush=True)


def main() -> int:
    # SIGINT ends the program as SIGTERM does.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with Monitor.with_options(sys.argv[1:]) as monitor:
            poll = select.poll()
            poll.register(monitor.fileno(), select.POLLIN)
            # No event is requested for standard output: POLLERR and POLLHUP are always reported.
            poll.register(1, 0)
            show(monitor.path)
            while all(descriptor != 1 for descriptor, _ in poll.poll()):
                for path in monitor.dispatch():
                    show(path)
    except BrokenPipeError:
        # Python flushes standard output when it ends, which would fail again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    except NetwatchError as error:
        print(f"libnetwatch: {error.strerror}", file=sys.stderr)
        return 64 if error.errno == errno.EINVAL else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
