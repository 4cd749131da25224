#!/usr/bin/env python3
"""The judge of the ledger names each kind of damage to a correct ledger."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

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
        """A task that was killed has no end; its successor begins after everything that it wrote."""
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


if __name__ == "__main__":
    unittest.main()
