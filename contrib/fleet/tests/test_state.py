"""What is known of a fleet, from messages as netwatch mqtt makes them."""
import json
import random
import time
import unittest

from netwatch_fleet import view
from netwatch_fleet.state import NEAR, RETIRED, Fleet, Machine, Outage, span

ONE = "ad9540d9c7755d2b-6114afaab64fc1bb"
TWO = "ad9540d9c7755d2b-0000000000000002"


def moment(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime(seconds))


def presence(run="0000000a", at=0.0, absence=None, **more):
    value = {"v": 1, "run": run, "online": absence is None, "host": "one", "time": moment(at), "silence": 90,
             "labels": {"region": "north"}, "version": "1.0.0"}
    if absence:
        value["absence"] = absence
    return json.dumps({**value, **more}).encode()


def line(number, run="0000000a", at=0.0, status="wifi", reason="route_up"):
    reach = {"status": status, "medium": None, "ipv4": None, "ipv6": None, "wifi": None}
    if status == "wifi":
        reach.update(medium="wired", ipv4={"address": "10.0.0.2", "gateway": "10.0.0.1"})
    return json.dumps({"v": 1, "run": run, "n": number, "since": moment(at), "line": {
        "v": 1, "seq": number, "time": moment(at), "event": "reachability", "reason": reason, "reachability": reach,
        "sentence": "Offline: no carrier." if status != "wifi" else "Online."}}).encode()


def gap(number, lost, run="0000000a"):
    return json.dumps({"v": 1, "run": run, "n": number, "lost": lost}).encode()


def alive(run="0000000a", at=0.0, waiting=0):
    return json.dumps({"v": 1, "run": run, "time": moment(at), "waiting": waiting}).encode()


class States(unittest.TestCase):
    def setUp(self):
        self.fleet = Fleet()

    def take(self, kind, payload, now, machine=ONE, is_live=True):
        return [event.kind for event in self.fleet.take(machine, kind, payload, now, is_live)]

    @property
    def one(self):
        return self.fleet.machines[ONE]

    def test_a_machine_is_there_until_its_will_or_its_silence(self):
        self.assertEqual(self.take("presence", presence(at=1000), 1000), [])
        self.assertIsNone(self.one.offline(1090))
        self.assertEqual(self.one.offline(1091), ("silent", 1000))
        self.take("alive", alive(at=1030), 1030)
        self.assertIsNone(self.one.offline(1120))
        self.assertEqual(self.take("presence", presence(absence="lost"), 1060), ["offline"])
        # It was there when it said something last.
        self.assertEqual(self.one.offline(1061), ("lost", 1030))
        self.assertEqual(self.take("presence", presence(at=1200), 1200), ["online"])
        self.assertIsNone(self.one.offline(1201))
        self.assertEqual([tuple(each) for each in self.one.all_outages(1300)][:1], [(1030, 1200, "lost")])

    def test_silence_is_told_once(self):
        self.take("presence", presence(at=1000), 1000)
        self.assertEqual(self.fleet.tick(1050), [])
        self.assertEqual([event.kind for event in self.fleet.tick(1100)], ["offline"])
        self.assertEqual(self.fleet.tick(1200), [])
        self.assertEqual(self.take("alive", alive(at=1300), 1300), ["online"])

    def test_silence_in_the_past_is_not_known(self):
        # An engine keeps the last sign of each machine, and no earlier one.
        self.fleet.has_signs = False
        self.take("presence", presence(at=1000), 1000)
        self.take("line", line(1, at=1000), 1000)
        self.take("line", line(2, at=9000), 9000)
        self.take("presence", presence(absence="lost"), 9100)
        self.assertEqual(self.one.offline(9100), ("lost", 9100))
        # The last sign before the loss.
        self.take("alive", alive(at=9060), 9060)
        self.assertEqual(self.one.offline(9100), ("lost", 9060))
        self.take("presence", presence(at=9200), 9200)
        # It is read again, because the connection has broken off meanwhile.
        self.take("presence", presence(absence="lost"), 9100)
        self.fleet.has_signs = True
        self.assertEqual([tuple(each) for each in self.one.all_outages(9250)], [(9060, 9200, "lost")])
        self.assertEqual([event.kind for event in self.fleet.tick(9300)], ["offline"])

    def test_an_engine_that_was_away_makes_no_machine_silent(self):
        self.take("presence", presence(at=1000, silence=15), 1000)
        self.fleet.engine_is_back(1200)
        # It tries again once in a minute.
        self.assertEqual(self.fleet.tick(1270), [])
        self.assertEqual(self.take("alive", alive(at=1272), 1272), [])
        self.assertEqual(self.one.all_outages(1272), [])
        # And is excused no longer than that.
        self.assertEqual([event.kind for event in self.fleet.tick(1290)], ["offline"])

    def test_what_a_broker_retains_is_no_word(self):
        self.take("presence", presence(at=1000), 1000, is_live=False)
        self.assertEqual(self.one.offline(1200), ("silent", 1000))
        # The overview was not connected for a while, and the broker says again what it retains.
        self.assertEqual(self.take("presence", presence(at=1000), 1300, is_live=False), [])
        self.assertEqual(self.one.offline(1300), ("silent", 1000))
        # Another run has come meanwhile.
        self.take("presence", presence(run="0000000b", at=1250), 1400, is_live=False)
        self.assertIsNone(self.one.offline(1401))

    def test_an_end_is_no_outage(self):
        self.take("presence", presence(at=1000), 1000)
        self.take("presence", presence(absence="ended"), 1010)
        self.assertEqual(self.one.offline(2000), ("ended", 1010))
        self.take("presence", presence(run="0000000b", at=2000), 2000)
        self.assertEqual(self.one.all_outages(2000), [])

    def test_the_will_of_a_connection_that_another_run_has_replaced_says_nothing(self):
        self.take("presence", presence(at=1000), 1000)
        self.take("presence", presence(run="0000000b", at=1010), 1010)
        self.assertEqual(self.take("presence", presence(absence="lost"), 1030), [])
        self.assertIsNone(self.one.offline(1031))

    def test_lines_come_once_whatever_the_engine_does(self):
        self.take("presence", presence(at=1000), 1000)
        for number in (1, 2, 3):
            self.take("line", line(number, at=1000 + number), 1004)
        for number in (2, 3, 1):
            self.take("line", line(number, at=1000, status="not-reachable"), 1005)
        self.assertEqual((self.one.status, self.one.missing(), len(self.one.all_outages(1005))), ("wifi", 0, 0))

    def test_a_hole_is_told_and_a_counted_gap_is_none(self):
        self.take("line", line(1, at=1000), 1000)
        self.assertEqual(self.take("line", gap(11, 10), 1001), [])
        self.assertEqual(self.take("line", line(12, at=1002), 1002), [])
        self.assertEqual(self.take("line", line(15, at=1003), 1003), ["missing"])
        self.assertEqual((self.one.dropped(), self.one.missing()), (10, 2))

    def test_an_outage_that_the_machine_explains_later_is_one(self):
        self.take("presence", presence(at=1000), 1000)
        self.take("line", line(1, at=1000), 1000)
        self.take("presence", presence(absence="lost"), 1100)
        self.take("presence", presence(at=1305), 1305)
        self.take("line", line(2, at=1010, status="not-reachable", reason="no_carrier"), 1305.1)
        self.take("line", line(3, at=1300), 1305.2)
        self.assertEqual([tuple(each) for each in self.one.all_outages(1400)], [(1010, 1300, "no_carrier")])

    def test_any_silence_near_an_outage_is_explained_by_it(self):
        chance = random.Random(60)
        for _ in range(300):
            machine = Machine(ONE, heard=1e9)
            for times in (machine.outages, machine.absences):
                moment = 0.0
                for _ in range(chance.randrange(8)):
                    # A clock that is set may also make times overlap.
                    start = max(0.0, moment + chance.uniform(-30, 60))
                    moment = start + chance.uniform(0, 60)
                    times.append(Outage(start, moment, chance.choice(["lost", "silent", "ended"])))
            explained = [
                quiet for quiet in machine.absences if quiet.reason != "ended"
                and any(own.start <= quiet.end + NEAR and quiet.start - NEAR <= own.end for own in machine.outages)]
            told = sorted((*machine.outages, *(each for each in machine.absences if each.reason != "ended" and each not in explained)))
            self.assertEqual(sorted(machine.all_outages(1e9)), told)

    def test_a_clock_that_is_wrong_by_a_day_is_told_and_makes_no_wrong_times(self):
        day = 86_400
        events = self.take("presence", presence(at=10 * day), 11 * day)
        self.assertEqual(events, ["clock"])
        self.take("line", line(1, at=10 * day, status="not-reachable", reason="no_route"), 11 * day)
        self.take("line", line(2, at=10 * day + 60), 11 * day + 60)
        self.assertEqual([tuple(each) for each in self.one.all_outages(12 * day)], [(11 * day, 11 * day + 60, "no_route")])
        self.assertEqual(self.take("alive", alive(at=10 * day + 60), 11 * day + 60), [])
        notes = view.rows(self.fleet, 11 * day + 60)[0]["notes"]
        self.assertEqual(notes, ["its clock is 1 d 0 h behind"])

    def test_two_machines_with_one_identity_are_named(self):
        self.take("presence", presence(run="0000000a", at=1000), 1000)
        self.take("presence", presence(run="0000000b", at=1001), 1001)
        self.assertEqual(self.take("alive", alive(run="0000000b", at=1030), 1030), [])
        self.assertEqual(self.take("alive", alive(run="0000000a", at=1031), 1031), ["copied"])
        self.assertEqual(self.take("alive", alive(run="0000000a", at=1061), 1061), [])
        self.assertIn("two machines have this identity", view.rows(self.fleet, 1062)[0]["notes"])

    def test_a_restart_is_no_copy(self):
        self.take("presence", presence(run="0000000a", at=1000), 1000)
        self.take("alive", alive(run="0000000a", at=1030), 1030)
        self.take("presence", presence(run="0000000b", at=1040), 1040)
        self.take("line", line(1, run="0000000a", at=1035), 1041)
        self.assertEqual(self.take("alive", alive(run="0000000b", at=1060), 1060), [])
        self.assertEqual(view.rows(self.fleet, 1061)[0]["notes"], [])

    def test_what_a_broker_retains_is_no_word_of_now(self):
        self.take("presence", presence(at=1000), 5000, is_live=False)
        self.assertEqual(self.one.clock, None)

    def test_a_machine_of_the_inventory_is_never_heard_of(self):
        self.fleet.expect(TWO, "two", {"region": "south"})
        self.take("presence", presence(at=1000), 1000)
        rows = view.rows(self.fleet, 1001)
        self.assertEqual([(row["host"], row["state"]) for row in rows], [("two", "never heard of"), ("one", "online")])
        self.assertEqual(self.fleet.tick(1001), [])

    def test_a_machine_that_was_taken_away_is_not_shown(self):
        self.fleet.expect(TWO, "cellar")
        self.take("presence", presence(at=1000), 1000)
        # It is not in the inventory, and is there.
        self.assertEqual([row["id"] for row in view.rows(self.fleet, 1001)], [TWO, ONE])
        self.take("presence", presence(absence="ended"), 1010)
        self.assertEqual({row["id"] for row in view.rows(self.fleet, 1010 + RETIRED)}, {ONE, TWO})
        self.assertEqual([row["id"] for row in view.rows(self.fleet, 1011 + RETIRED)], [TWO])
        self.assertNotIn(ONE, view.metrics(self.fleet, view.rows(self.fleet, 1011 + RETIRED), 1011 + RETIRED, True))
        self.assertEqual([each.identity for each in self.fleet.named("cellar")], [TWO])

    def test_a_machine_is_online_since_its_return(self):
        self.take("presence", presence(at=1000), 1000)
        self.take("line", line(1, at=1000), 1000)
        self.take("presence", presence(absence="lost"), 1060)
        self.take("presence", presence(run="0000000b", at=1200), 1200)
        self.assertEqual([row["since"] for row in view.rows(self.fleet, 1201)], [1200])

    def test_a_sign_that_comes_late_changes_nothing(self):
        self.take("presence", presence(at=1000), 1000)
        self.take("presence", presence(absence="ended"), 1100)
        self.assertEqual(self.take("alive", alive(at=1090), 1090), [])
        self.assertEqual(self.one.offline(1101), ("ended", 1100))
        self.take("presence", presence(run="0000000b", at=1200), 1200)
        self.assertEqual(self.take("alive", alive(at=1095), 1095), [])
        self.assertIsNone(self.one.offline(1201))

    def test_one_machine_cannot_end_the_overview(self):
        whole = presence(at=1000, host="\ud800", labels={f"label{each}": "\udfff" for each in range(500)})
        self.take("presence", whole, 1000)
        for run, number in (("0000000a", "9" * 4_300), ("0000000b", "1e400"), ("0000000c", "NaN"), ("0000000d", "1.5")):
            self.take("line", line(1, run=run, at=1000).replace(b'"n": 1', f'"n": {number}'.encode()), 1000)
        self.take("line", line(1, at=1000, status="not-reachable", reason="\x1b[31m"), 1000)
        self.take("line", line(2, at=1000), 1000)
        self.take("line", line(3, at=1000, status="not-reachable"), 1000)
        for run in range(1_000):
            self.take("alive", alive(run=f"{run:08x}", at=1001), 1001)
        self.assertLessEqual(len(self.one.runs), 16)
        self.assertLessEqual(len(self.one.labels), 32)
        rows = view.rows(self.fleet, 1002.0)
        for text in (view.page(rows, 1002.0, 1002.0), view.table(rows, 1002.0), view.metrics(self.fleet, rows, 1002.0, True)):
            text.encode()
            self.assertNotIn("\x1b", text)

    def test_strangers_do_no_harm(self):
        generator = random.Random(60)
        whole = [presence(at=1000), line(1, at=1000), gap(7, 3), alive(at=1000)]
        pieces = [b"-1", b"1e308", b"9223372036854775807", b"null", b"[]", b"{}", b'"', b"\\", b"true", b",", b"\x00", b"NaN"]
        for _ in range(20_000):
            payload = bytearray(generator.choice(whole))
            for _ in range(generator.randint(1, 3)):
                start = generator.randint(0, len(payload))
                payload[start:start + generator.randint(0, 4)] = generator.choice(pieces)
            self.fleet.take(ONE, generator.choice(["presence", "line", "alive"]), bytes(payload), 1000.0, True)
        self.assertGreater(self.fleet.faults, 1_000)
        for kind, machine in (("other", ONE), ("line", "x"), ("line", "../../etc")):
            self.fleet.take(machine, kind, line(1), 1000.0, True)
        self.assertEqual(set(self.fleet.machines), {ONE})
        rows = view.rows(self.fleet, 1001.0)
        view.page(rows, 1001.0, 1001.0), view.table(rows, 1001.0), view.metrics(self.fleet, rows, 1001.0, True)


class Views(unittest.TestCase):
    def fleet(self, host):
        fleet = Fleet()
        fleet.take(ONE, "presence", presence(at=1000, host=host), 1000)
        fleet.take(ONE, "line", line(1, at=1000), 1000)
        return fleet

    def test_names_cannot_act_on_a_terminal_or_a_page(self):
        fleet = self.fleet("</script><b>\x1b[31m\u202e")
        rows = view.rows(fleet, 2000)
        table = view.table(rows, 2000)
        self.assertNotRegex(table, "[\x00-\x09\x0b-\x1f\u202e]")
        page = view.page(rows, 2000, 2000)
        self.assertEqual(page.count("</script>"), 1)
        self.assertIn("\\u003c/script>\\u003cb>", page)

    def test_the_metrics_are_those_of_a_fleet(self):
        fleet = self.fleet('a"b\\c')
        text = view.metrics(fleet, view.rows(fleet, 1001), 1001, True)
        self.assertIn('netwatch_fleet_machines{state="online"} 1\n', text)
        self.assertIn(f'netwatch_machine_up{{machine="{ONE}",host="a\\"b\\\\c",region="north"}} 1\n', text)
        text = view.metrics(fleet, view.rows(fleet, 5000), 5000, False)
        self.assertIn('netwatch_fleet_machines{state="silent"} 1\n', text)
        self.assertIn("netwatch_fleet_connected 0\n", text)

    def test_the_history_has_each_outage(self):
        fleet = self.fleet("one")
        fleet.take(ONE, "line", line(2, at=1100, status="not-reachable", reason="no_carrier"), 1100)
        fleet.take(ONE, "line", line(3, at=1160), 1160)
        text = view.history(fleet.machines[ONE], 1170)
        self.assertRegex(text, r"1 min +no carrier\n1 outage, 1 min\n$")

    def test_a_machine_that_goes_and_comes_is_named(self):
        fleet = self.fleet("one")
        for number in range(2, 12):
            down = number % 2 == 0
            fleet.take(ONE, "line", line(number, at=1000 + 60 * number, status="not-reachable" if down else "wifi", reason="no_route"), 1000 + 60 * number)
        self.assertEqual(view.rows(fleet, 1700)[0]["notes"], ["flaps"])

    def test_spans(self):
        self.assertEqual([span(each) for each in (0, 59, 60, 3_600, 90_000)], ["0 s", "59 s", "1 min", "1 h 0 min", "1 d 1 h"])


if __name__ == "__main__":
    unittest.main()
