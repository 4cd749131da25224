#!/usr/bin/env python3
"""Tests of what the toy run cannot show: how figures are judged, and how a server's log is read."""
import json
import os
import struct
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
sys.dont_write_bytecode = True

from lib.figure import Figure, table, text  # noqa: E402
from lib.record import BEGIN, END, ALONE, Record, function  # noqa: E402


def figure(value, **held):
    given = {"bar": None, "at_least": None, "at_most": None, "of_limit": None, "limit": None, "limit_name": None, **held}
    return Figure("array", "hostname", value, "steps/s", **given)


class FigureTest(unittest.TestCase):
    def test_judged(self):
        self.assertIsNone(figure(600).met)
        self.assertTrue(figure(600, at_least=600).met)
        self.assertFalse(figure(599, at_least=600).met)
        self.assertTrue(figure(4, at_most=4).met)
        self.assertFalse(figure(4.1, at_most=4).met)

    def test_ratio(self):
        """Where there are two bars, both have to be met. A bar on the ratio to a limit of 0 is never met."""
        self.assertEqual(figure(600, limit=1200, of_limit=0.5).ratio, 0.5)
        self.assertTrue(figure(600, limit=1200, of_limit=0.5).met)
        self.assertFalse(figure(599, limit=1200, of_limit=0.5).met)
        self.assertFalse(figure(3999, at_least=4000, limit=5000, of_limit=0.7).met)
        self.assertFalse(figure(4000, at_least=4000, limit=6000, of_limit=0.7).met)
        self.assertFalse(figure(600, limit=0, of_limit=0.5).met)

    def test_table(self):
        rows = [figure(600, at_least=600), figure(1, at_least=600)]
        self.assertEqual([line.split()[-1] for line in table(rows, True)[2:]], ["met", "missed"])
        self.assertFalse(any("met" in line for line in table(rows, False)))
        self.assertEqual([text(value) for value in (0, 12345.6, 12.34, 1.234, 0.0123, 0.00012, None)], ["0", "12,346", "12.3", "1.23", "0.012", "0.0001", ""])


def entry(session, message, **more):
    return {"user": "rota_node_n1", "session_id": session, "message": message, "error_severity": "LOG", "txid": 7, **more}


def recorded(*entries):
    """The Record of a log with these entries, and the bytes that it writes for replay.c."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/log", "w", encoding="utf-8") as file:
            file.writelines(json.dumps(one) + "\n" for one in entries)
        record = Record(f"{folder}/log", "job_submit", "node_report", {"7"})
        record.read()
        record.write(f"{folder}/calls")
        with open(f"{folder}/calls", "rb") as file:
            return record, file.read()


class RecordTest(unittest.TestCase):
    def test_order(self):
        """A call has, for each other session, how many calls of that session it follows: up to the last ended one that others wait for. Refused
        calls are left out."""
        def begin(session, name, user):
            return {**entry(session, f"execute {name}: select * from api.{name}()"), "user": user}

        def end(session, user, how="LOG"):
            return {**entry(session, "duration: 1 ms" if how == "LOG" else "no"), "user": user, "error_severity": how}

        lead, node = "rota_jobmgr", "rota_node_n1"
        record, _ = recorded(end("a", lead), begin("a", "schedule_commit", lead), begin("b", "node_orders", node), end("a", lead), end("b", node),
                             begin("b", "node_report", node), begin("a", "schedule_nodes", lead), end("a", lead), end("b", node, "ERROR"),
                             begin("c", "node_report", node), begin("a", "schedule_commit", lead))
        self.assertEqual([(number, ended) for number, _, ended, _ in record.calls],
                         [(0, {0: 0}), (1, {0: 0}), (0, {0: 1, 1: 0}), (2, {0: 1}), (0, {0: 1, 1: 0, 2: 0})])
        self.assertEqual(record.refused, [("node_report", "no")])
        self.assertEqual(record.spent, {"schedule_commit": (1, 1.0), "node_orders": (1, 1.0), "schedule_nodes": (1, 1.0)})

    def test_idle(self):
        """A commit that started nothing is left out: no call waits for it, and the next call of the session gets its number."""
        lead = {"user": "rota_jobmgr"}
        record, _ = recorded(entry("a", "execute c: select * from api.schedule_commit()", **lead), entry("a", "duration: 1 ms", **(lead | {"txid": 8})),
                             entry("b", "execute r: select * from api.node_report()"), entry("b", "duration: 1 ms"),
                             entry("a", "execute c: select * from api.schedule_commit()", **lead), entry("a", "duration: 1 ms", **lead),
                             entry("b", "execute r: select * from api.node_report()"))
        self.assertEqual([(number, ended) for number, _, ended, _ in record.calls], [(1, {0: 0}), (0, {0: 0, 1: 1}), (1, {0: 1})])

    def test_others(self):
        """Sessions of users, and lines that are no call, are left out."""
        record, _ = recorded({**entry("a", "execute x: select 1"), "user": "postgres"}, entry("b", "connection authorized"), {"message": "checkpoint"})
        self.assertEqual(record.calls, [])

    def test_settled(self):
        """Applying a deferred report is no call of its own, because deferral differs from run to run."""
        record, _ = recorded(entry("a", "execute node_report: select * from api.node_report()"), entry("a", "duration: 1 ms"),
                             entry("a", "execute node_apply: select * from api.node_apply()"), entry("a", "duration: 1 ms"),
                             entry("a", "execute node_orders: select * from api.node_orders()"))
        self.assertEqual([function(statement) for _, statement, _, _ in record.calls], ["node_report", "node_orders"])

    def test_parameters(self):
        detail = "parameters: $1 = '5', $2 = NULL, $3 = '{\"a\": \"it''s, $4 = ''7''\"}', $5 = ''"
        _, data = recorded(entry("a", "execute node_report: select * from api.node_report($1)", detail=detail))
        at = data.rindex(struct.pack("<I", 4) + struct.pack("<I", 1) + b"5\0")
        texts = (b"5", None, b"{\"a\": \"it's, $4 = '7'\"}", b"")
        self.assertEqual(data[at:], struct.pack("<I", 4) + b"".join(
            struct.pack("<I", 0xFFFFFFFF) if one is None else struct.pack("<I", len(one)) + one + b"\0" * (4 - len(one) % 4) for one in texts))

    def test_marks(self):
        _, data = recorded(entry("a", "execute job_submit: select * from api.job_submit()"), entry("a", "duration: 1 ms"),
                           entry("a", "execute node_report: select * from api.node_report()"), entry("a", "duration: 1 ms"))
        # Each call: session, statement, marks, what had ended before, parameters.
        self.assertEqual(struct.unpack("<10I", data[-40:]), (0, 0, BEGIN, 0, 0, 0, 1, END | ALONE["node_report"], 0, 0))


if __name__ == "__main__":
    unittest.main()
