#!/usr/bin/env python3
"""The programs of tests/rules find what they are to find, and nothing else."""
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


circles, heads, lengths, names, widths, words = (load(name) for name in ("circles", "heads", "lengths", "names", "widths", "words"))


def graph(**calls):
    """graph(a="b c"): file a calls the functions b_do of file b and c_do of file c."""
    return circles.Graph({file: {f"{other}_do" for other in others.split()} for file, others in calls.items()},
                         {file: {f"{file}_do", "main"} for file in calls})


class Circles(unittest.TestCase):
    def test_calls_that_go_one_way_are_no_circle(self):
        self.assertEqual(circles.judge(graph(a="b c", b="c", c="", d="a")), [])

    def test_a_circle_names_its_files_and_symbols(self):
        wrong = circles.judge(graph(a="b", b="c", c="a", d="a"))
        self.assertEqual(wrong[0], "circle of 3 files: a b c")
        self.assertIn("shortest way round: a -> b (b_do) -> c (c_do) -> a (a_do)", wrong[1])
        self.assertEqual(wrong[2:], ["  a -> b: b_do", "  b -> c: c_do", "  c -> a: a_do"])

    def test_each_circle_is_named(self):
        wrong = circles.judge(graph(a="b", b="a c", c="d", d="c"))
        self.assertEqual([line for line in wrong if line.startswith("circle")], ["circle of 2 files: a b", "circle of 2 files: c d"])


class Words(unittest.TestCase):
    ROWS = [(words.expression("lanes?"), "connection", "the field's word")]

    def found(self, *lines):
        return [(number, word) for number, word, _, _ in words.find(lines, self.ROWS)]

    def test_a_word_is_found_within_an_identifier(self):
        self.assertEqual(self.found("struct gate_lane *l;", "LANES_MAX", "lane2"), [(1, "lane"), (2, "LANES"), (3, "lane")])

    def test_another_word_is_not(self):
        self.assertEqual(self.found("planes", "a plan", "lanel"), [])

    def test_the_list_can_be_read(self):
        for pattern, instead, reason in words.read_list(os.path.join(os.path.dirname(os.path.abspath(__file__)), "words.retired")):
            self.assertTrue(words.expression(pattern) and instead and reason)


class Heads(unittest.TestCase):
    def test_a_comment_of_c_ends_where_it_ends(self):
        self.assertEqual(heads.length(["/* a.c - does a.\n", " *\n", " * More. */\n", "/* Another. */\n"]), 3)

    def test_a_comment_of_sql_ends_before_the_first_other_line(self):
        self.assertEqual(heads.length(["-- Does a.\n", "-- More.\n", "\n", "-- Another.\n"]), 2)

    def test_a_file_may_have_no_comment(self):
        self.assertEqual(heads.length(["int a;\n"]), 0)
        self.assertEqual(heads.length([]), 0)


class Names(unittest.TestCase):
    def test_a_bare_verb_is_found_where_a_static_function_has_it(self):
        lines = ["static int print(void)", "static const char *take(int a, int b)", "static inline void run(void (*f)(void))"]
        self.assertEqual(list(names.find(lines)), [(1, "print"), (2, "take"), (3, "run")])

    def test_other_names_are_not(self):
        self.assertEqual(list(names.find(["static int answer_print(void)", "static int digits(void)", "int print(void)",
                                          "\tprint();", "static int print = 1;", "static void (*run)(void);"])), [])


class Widths(unittest.TestCase):
    def test_a_line_may_have_130_columns(self):
        self.assertEqual(list(widths.find(["a" * 130 + "\n", "a" * 131 + "\n"])), [(2, 131)])

    def test_a_tab_counts_four_columns(self):
        self.assertEqual(list(widths.find(["\t\t" + "a" * 122, "\t\t" + "a" * 123])), [(2, 131)])


class Lengths(unittest.TestCase):
    def function(self, lines):
        """The lines of an SQL function of `lines` lines, and of its comment, which is not among them."""
        return ["create function internal.f() returns int", "language plpgsql as $$", *["\tperform 1;"] * (lines - 3), "end $$;",
                "comment on function internal.f() is", "\t'What it does.';"]

    def test_a_function_ends_with_its_body(self):
        self.assertEqual(list(lengths.find(["-- A comment.", *self.function(7), "", *self.function(9)])),
                         [(2, "internal.f", 7), (12, "internal.f", 9)])

    def test_a_quoted_text_within_a_body_does_not_end_it(self):
        self.assertEqual(list(lengths.find(["create function f() returns int as $$", "execute $q$ select 1;", "$q$;", "end $$;"])),
                         [(1, "f", 4)])

    def test_a_view_and_a_function_without_quotes_end_with_their_statement(self):
        self.assertEqual(list(lengths.find(["create view v as", "select 1;", "create or replace function f() returns int",
                                            "language sql return 0; -- none"])), [(1, "v", 2), (3, "f", 2)])

    def test_a_function_whose_names_are_bound_ends_with_its_body(self):
        self.assertEqual(list(lengths.find(["create function f() returns int", "language sql", "begin atomic", "\tselect 1;", "end;",
                                            "select 2;"])), [(1, "f", 5)])

    def test_a_function_may_have_60_lines(self):
        self.assertEqual(len(list(lengths.judge([("x.sql:1", "a", 60), ("x.sql:70", "b", 61)], {}))), 1)

    def test_an_exception_holds_as_long_as_it_is_needed(self):
        self.assertEqual(list(lengths.judge([("x.sql:1", "a", 61)], {"a": "hot path"})), [])
        self.assertEqual(len(list(lengths.judge([("x.sql:1", "a", 60)], {"a": "hot path", "gone": "hot path"}))), 2)

    def test_the_list_can_be_read(self):
        self.assertTrue(lengths.read_list(os.path.join(os.path.dirname(os.path.abspath(__file__)), "lengths.excepted")))


if __name__ == "__main__":
    unittest.main()
