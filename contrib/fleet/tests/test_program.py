"""When the overview calls a machine silent."""
import argparse
import time
import unittest
from unittest import mock

from netwatch_fleet.__main__ import Program
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

    def test_nothing_changes_while_the_engine_is_away(self):
        program = self.program()
        program.caught_up()
        begin = time.time()
        program.take(ONE, "presence", presence(at=begin), begin, True)
        machine = program.fleet.machines[ONE]
        with mock.patch("sys.stderr") as errors, mock.patch("time.time") as clock:
            clock.return_value = begin + 10
            for words in ("lost", "refused", "lost"):
                program.set_trouble(words)
            clock.return_value = begin + 1_000
            self.assertEqual(program.now(), begin + 10)
            self.assertEqual(program.fleet.tick(program.now()), [])
            # It has a minute to come back.
            program.set_trouble(None)
            self.assertEqual(program.now(), begin + 1_000)
            self.assertIsNone(machine.offline(program.now()))
            told = "".join(call.args[0] for call in errors.write.call_args_list)
            self.assertEqual([told.count(words) for words in ("lost; trying", "refused; trying", "connected to")], [1, 1, 1])


if __name__ == "__main__":
    unittest.main()
