"""The parts of the harness that need no hub."""

import math
import sys
import unittest
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parent))

import rows  # noqa: F401, registers all attacks
from attack import ATTACKS, MEASURES
from generator import ANSWER, HEAD_ANSWER, Connection
from verdict import Result, Window, percentiles
from wire import frame, request


def window(ms, growth_mib=0):
    return Window(dict.fromkeys(MEASURES, ms), growth_mib, cpu=0)


def judged(control, attack):
    return Result(control, attack, {}, MEASURES, confirmed=True)


def answer(received, waits=ANSWER):
    return Connection.answer(SimpleNamespace(received=received, waits=waits))


class Verdicts(unittest.TestCase):
    def test_a_row_holds_within_three_times_its_control_and_64_mib(self):
        self.assertEqual(judged(window(10), window(30)).verdict, "holds")
        self.assertEqual(judged(window(10), window(31)).verdict, "BROKEN: ping, update, rest, health")
        self.assertEqual(judged(window(10, 20), window(10, 84)).verdict, "holds")
        self.assertEqual(judged(window(10, 20), window(10, 85)).verdict, "BROKEN: memory")

    def test_short_waits_do_not_decide(self):
        self.assertEqual(judged(window(0.1), window(15)).ratio, 3)
        self.assertEqual(judged(window(0.1), window(4)).ratio, 1)

    def test_what_never_comes_breaks_a_row_whatever_its_control(self):
        self.assertFalse(judged(window(math.inf), window(math.inf)).holds)
        self.assertFalse(judged(window(1), Window(percentiles({kind: [] for kind in MEASURES}), 0, 0)).holds)

    def test_percentiles_are_waits_that_happened(self):
        self.assertEqual(percentiles({"ping": [*range(1, 101)]}), {"ping": 99})
        self.assertEqual(percentiles({"ping": [3, 1, 2]}), {"ping": 3})


class Answers(unittest.TestCase):
    def test_a_response_ends_with_its_length_or_its_last_chunk(self):
        head = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"
        self.assertEqual([bool(answer(received)) for received in (b"", head[:-1], head + b"ab", head + b"abc")], [False, False, False, True])
        chunked = b"HTTP/1.1 429 Busy\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
        self.assertIsNone(answer(chunked))
        self.assertEqual(answer(chunked + b"0\r\n\r\n").status, 429)

    def test_responses_without_a_body_end_with_their_head(self):
        self.assertEqual(answer(b"HTTP/1.1 304 Same\r\n\r\n").status, 304)
        self.assertEqual(answer(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", HEAD_ANSWER).body, b"")


class Bytes(unittest.TestCase):
    def test_frames_are_masked(self):
        sent = frame(b"hello")
        self.assertEqual(sent[:2], b"\x81\x85")
        self.assertEqual(bytes(byte ^ sent[2 + at % 4] for at, byte in enumerate(sent[6:])), b"hello")
        self.assertEqual(frame(b"x" * 70_000)[:2], b"\x81\xff")

    def test_requests_have_the_length_of_their_body(self):
        self.assertTrue(request("/", "mw_1", "POST", {"a": 1}).endswith(b"Content-Type: application/json\r\nContent-Length: 8\r\n\r\n{\"a\": 1}"))

    def test_there_are_the_findings_and_forty_attacks_more(self):
        findings = {name.split()[0] for name in ATTACKS if name[0].isdigit()}
        self.assertEqual(findings, {"1", "2", "3a", "3b", "3c", "3d", "4", "5", "6", "7", "8", "9", "10"})
        self.assertGreaterEqual(sum(not name[0].isdigit() for name in ATTACKS), 40)


if __name__ == "__main__":
    unittest.main()
