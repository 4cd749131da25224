#!/usr/bin/env python3
"""What judges the source sees what it is there for."""
import importlib.machinery
import importlib.util
import os
import sys
import unittest

sys.dont_write_bytecode = True


def load(name):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), name)
    loader = importlib.machinery.SourceFileLoader(name, path)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


circles = load("circles")


def graph(**calls):
    """graph(a="b c"): the file a calls b and c, each by a function of its own name."""
    return circles.Graph({file: {f"{other}_do" for other in others.split()} for file, others in calls.items()},
                         {file: {f"{file}_do", "main"} for file in calls})


class Circles(unittest.TestCase):
    def test_calls_that_go_one_way_are_no_circle(self):
        self.assertEqual(circles.judge(graph(a="b c", b="c", c="", d="a"), []), [])

    def test_a_circle_names_its_files_and_symbols(self):
        wrong = circles.judge(graph(a="b", b="c", c="a", d="a"), [])
        self.assertEqual(wrong[0], "circle of 3 files: a b c")
        self.assertIn("shortest way round: a -> b (b_do) -> c (c_do) -> a (a_do)", wrong[1])
        self.assertEqual(wrong[2:], ["  a -> b: b_do", "  b -> c: c_do", "  c -> a: a_do"])

    def test_a_known_circle_passes_until_it_changes(self):
        self.assertEqual(circles.judge(graph(a="b", b="a"), [["a", "b"]]), [])
        self.assertIn("is gone", circles.judge(graph(a="b", b=""), [["a", "b"]])[0])
        self.assertIn("delete the lines: c", circles.judge(graph(a="b", b="a c", c=""), [["a", "b", "c"]])[0])
        self.assertIn("several", circles.judge(graph(a="b", b="a c", c="d", d="c"), [["a", "b", "c", "d"]])[0])
        self.assertIn("not in the list of known circles: c", circles.judge(graph(a="b", b="c", c="a"), [["a", "b"]])[1])


if __name__ == "__main__":
    unittest.main()
