"""The parts of tests/ha/run: machines, the page's commands, the stream of jobs, faults, and the verdict."""
