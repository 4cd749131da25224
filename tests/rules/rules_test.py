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


circles, heads, lengths, names, widths, words = (load(name) for name in ("circles", "heads", "lengths", "names", "widths", "words"))
