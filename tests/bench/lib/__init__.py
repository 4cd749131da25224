"""Shared by benchmarks: instances, figures, pictures, and figures of /proc."""
