"""When the overview calls a machine silent."""
import argparse
import time
import unittest
from unittest import mock

from netwatch_fleet.__main__ import SETTLING, Program
from test_state import ONE, presence


class Silence(unittest.TestCase):
    def program(self):
        return Program(argparse.Namespace(expect=None, alerts=False))

    def test_the_clock_is_that_of_the_engine(self):
        program = self.program()
        for days in (-1, 1):
            program.set_clock(time.time() + days * 86_400)
            self.assertAlmostEqual(program.now(), time.time() + days * 86_400, delta=5)
        program.take(ONE, "presence", presence(at=program.now()), program.now(), True)
        self.assertIsNone(program.fleet.machines[ONE].offline(program.now()))

    def test_nobody_counts_as_silent_right_after_a_new_connection(self):
        program = self.program()
        with mock.patch("sys.stderr"):
            program.set_trouble("the connection is lost")
        program.set_trouble(None)
        self.assertGreater(program.settled, time.monotonic() + SETTLING - 5)


if __name__ == "__main__":
    unittest.main()
