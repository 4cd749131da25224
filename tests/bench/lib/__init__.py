"""Modules that benchmarks share."""
