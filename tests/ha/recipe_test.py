#!/usr/bin/env python3
"""recipe.py reads the commands of docs/high-availability.md as a reader would, and tests/ha/run runs every one of them."""
import os
import sys
import unittest

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fault")]
sys.dont_write_bytecode = True

from cluster import recipe  # noqa: E402
from cluster.faults import BACKUP, RECOVERY, UPGRADE  # noqa: E402
from cluster.machine import ADDRESSES  # noqa: E402
from cluster.site import SECTIONS  # noqa: E402

LINES = """
1. Text with db1# in it:

       db1# cat >file <<END
       a

         b
       END
       db1# one \\
           more
       output
       db1# two

       db1# three
       n[1-2]# four
""".split("\n")


class RecipeTest(unittest.TestCase):
    def test_commands(self):
        """Here-documents and continued lines are whole. Output is left out. An empty line ends a script."""
        self.assertEqual(list(recipe.commands(LINES)), [
            ("db1", "cat >file <<END\na\n\n  b\nEND", False), ("db1", "one \\\n    more", True), ("db1", "two", True),
            ("db1", "three", False), ("n[1-2]", "four", True)])

    def test_machines(self):
        self.assertEqual(recipe.expand("db[1-3]"), ["db1", "db2", "db3"])
        self.assertEqual(recipe.expand("login1"), ["login1"])

    def test_every_command_is_followed(self):
        page = recipe.scripts("A cluster from empty machines")
        self.assertGreater(len(page), 20)
        self.assertEqual(page, [script for section in (*SECTIONS, BACKUP, RECOVERY, UPGRADE) for script in recipe.scripts(section)])
        for prompt, _ in page:
            self.assertTrue(prompt == "primary" or set(recipe.expand(prompt)) <= set(ADDRESSES), prompt)
        with open(recipe.PAGE, encoding="utf-8") as file:
            everywhere = list(recipe.commands(file.read().split("\n")))
        self.assertEqual(sum(len(text.split("\n")) for _, text, _ in everywhere), sum(len(text.split("\n")) for _, text in page))


if __name__ == "__main__":
    unittest.main()
