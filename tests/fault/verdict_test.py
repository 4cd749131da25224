#!/usr/bin/env python3
"""The judge of the ledger names each kind of damage to a correct ledger."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from lib.staging import judge_moved, judge_rows as judge_staged  # noqa: E402
from lib.substeps import Row, judge_lines, judge_rows  # noqa: E402
from lib.verdict import Ledger, Verdict, judge_ledger  # noqa: E402

WELL = ("begin 1.a 1 0 n1 100 7 1.0", "begin 1.a 1 1 n2 101 7 1.0", "end 1.a 1 0 n1 100 7 2.0", "begin 1.a 2 0 n1 102 9 3.0", "end 1.a 2 0 n1 102 9 4.0")


def judged(*lines):
    with tempfile.NamedTemporaryFile("w", suffix=".ledger") as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()
        verdict = Verdict()
        judge_ledger(verdict, Ledger(file.name))
    return verdict


class LedgerTest(unittest.TestCase):
    def test_well(self):
        """A task that was killed has no end in the ledger; its successor begins after all of its lines."""
        verdict = judged(*WELL)
        self.assertTrue(verdict.good())
        self.assertEqual(verdict.begun, 3)

    def test_twice(self):
        self.assertEqual(judged(*WELL, "begin 1.a 2 0 n3 103 9 4.5").doubled, ["1.a attempt 2 task 0 began 2 times"])
        self.assertEqual(judged(*WELL, WELL[-1]).doubled, ["1.a attempt 2 task 0 ended 2 times"])

    def test_beside(self):
        self.assertEqual(judged(*WELL, "beside 1.a 2 0 n1 100 7 3.1").doubled, ["1.a attempt 2 task 0 began beside process 100 of an earlier attempt"])
        self.assertEqual(judged(*WELL, "end 1.a 1 1 n2 101 7 5.0").doubled, ["1.a attempt 1 task 1 went on beside attempt 2"])

    def test_another_process(self):
        self.assertEqual(len(judged(*WELL[:4], "end 1.a 2 0 n1 102 8 4.0").wrong), 1)
        self.assertEqual(len(judged("end 1.a 1 0 n1 100 7 2.0").wrong), 1)

    def test_torn(self):
        self.assertEqual(len(judged(*WELL, "begin 1.a 3").wrong), 1)


# A sub-step with two tasks that fails and succeeds at its second run, and one that fails; then the sub-step of a second attempt.
SUB_WELL = ("subbegin 1.a 1 1.0.5 n1 200 7 1.0", "subbegin 1.a 1 1.1.5 n1 201 7 1.0", "subend 1.a 1 1.0.5 n1 200 7 1.5", "subend 1.a 1 1.1.5 n1 201 7 1.6",
            "subbegin 1.a 1 1.0.0 n1 202 8 1.7", "subbegin 1.a 1 1.1.0 n1 203 8 1.7", "subend 1.a 1 1.1.0 n1 203 8 1.8", "subend 1.a 1 1.0.0 n1 202 8 1.9",
            "subbegin 1.a 1 2.0.3 n1 204 8 1.9", "subend 1.a 1 2.0.3 n1 204 8 2.0")
ROWS = (Row("1.a", 1, True, 1, 2, 1, 2, "completed", 0, "exit", "work 1.a.1 0.1"), Row("1.a", 1, True, 2, 1, 0, 1, "failed", 3, "exit", "work 1.a.1 0.1"))


def judged_substeps(lines, rows):
    with tempfile.NamedTemporaryFile("w", suffix=".ledger") as file:
        file.write("".join(line + "\n" for line in lines))
        file.flush()
        verdict, ledger = Verdict(), Ledger(file.name)
    judge_ledger(verdict, ledger)
    judge_lines(verdict, ledger)
    judge_rows(verdict, ledger, rows)
    return verdict


class SubstepTest(unittest.TestCase):
    def found(self, lines, rows, **expected):
        verdict = judged_substeps(lines, rows)
        self.assertEqual({what: len(getattr(verdict, what)) for what in ("lost", "doubled", "wrong")}, {"lost": 0, "doubled": 0, "wrong": 0, **expected},
                         list(verdict.lines()))

    def test_well(self):
        self.found(SUB_WELL, ROWS)

    def test_begins_twice(self):
        self.found((*SUB_WELL, "subbegin 1.a 1 2.0.3 n1 205 9 2.1"), ROWS, doubled=1)
        cut = tuple(row._replace(whole=False, runs=1, state="running", exit_code=-1, cause="") for row in ROWS)
        self.found(SUB_WELL, cut)
        self.found((*SUB_WELL, "subbegin 1.a 1 2.0.3 n1 205 9 2.1"), cut, doubled=1)

    def test_missing(self):
        """Rows or ends of an attempt that was not cut off are missing."""
        self.found(SUB_WELL, ROWS[:1], lost=1)
        self.found(SUB_WELL, (ROWS[0]._replace(whole=False),))
        self.found(SUB_WELL[:-1], ROWS, lost=1)
        self.found(SUB_WELL[:-2], ROWS, lost=1, wrong=1)
        self.found(SUB_WELL, (), wrong=2)

    def test_grown(self):
        """A run may be lost with a node of a growth, but not the last run."""
        grown = tuple(row._replace(grown=True) for row in ROWS)
        lost = SUB_WELL[:2] + SUB_WELL[3:]
        self.found(lost, ROWS, lost=1)
        self.found(lost, grown)
        self.found(SUB_WELL[:-1], grown, lost=1)
        self.found((*SUB_WELL, "subbegin 1.a 1 2.0.3 n1 205 9 2.1"), grown, doubled=1)

    def test_end(self):
        for change in ({"state": "completed"}, {"exit_code": 0}, {"cause": "lost"}, {"state": "running", "exit_code": -1, "cause": ""}):
            self.found(SUB_WELL, (ROWS[0], ROWS[1]._replace(**change)), wrong=1)

    def test_another_job(self):
        self.found(SUB_WELL, (ROWS[0], ROWS[1]._replace(command="work 2.a.1 0.1")), wrong=1)

    def test_another_process(self):
        self.found((*SUB_WELL[:-1], "subend 1.a 1 2.0.3 n1 299 8 2.0"), ROWS, wrong=1)

    def test_beside(self):
        self.found((*SUB_WELL[:-1], "begin 1.a 2 0 n1 300 9 2.0", SUB_WELL[-1]), ROWS, doubled=1)


class StagingTest(unittest.TestCase):
    def judged(self, *rows, result=None):
        verdict = Verdict()
        judge_staged(verdict, rows, {"a": b"text"}, lambda job: result)
        return len(verdict.lost), len(verdict.doubled), len(verdict.wrong)

    def test_staging(self):
        for what in ("job", "element", "cancelled"):
            well = ("1", "complete", "", "1", what)
            self.assertEqual(self.judged(well, result={"a": b"text"}), (0, 0, 0))
            for result in (None, {}, {"a": b"tex"}, {"a": b"text", "b": b""}):
                self.assertEqual(self.judged(well, result=result), (1, 0, 0))
            self.assertEqual(self.judged(("1", "complete", "", "0", what), result={"a": b"text"}), (0 if what == "cancelled" else 1, 0, 0))
            self.assertEqual(self.judged(("1", "complete", "", "2", what), result={"a": b"text"}), (0, 1, 0))
            self.assertEqual(self.judged(("1", "staging_out", "data_out failed", "1", what), result={"a": b"text"}), (0, 0, 1))

    def test_array(self):
        """Only the elements of the array have data."""
        self.assertEqual(self.judged(("1", "complete", "", "0", "array")), (0, 0, 0))
        self.assertEqual(self.judged(("1", "array", "", "0", "array")), (0, 0, 1))

    def test_moved(self):
        for states, result, found in (("in done, out done, drop dropped", {"a": b"text"}, (0, 0)), ("in done, out done, drop dropped", None, (1, 0)),
                                      ("in done, out failed, drop kept", {"a": b"text"}, (0, 1)), ("in done, out done, drop dropped", {"a": b"tex"}, (1, 0))):
            verdict = Verdict()
            judge_moved(verdict, [("1", "campaign-1", states)], {"a": b"text"}, lambda key, result=result: result)
            self.assertEqual((len(verdict.lost), len(verdict.wrong)), found)


if __name__ == "__main__":
    unittest.main()
