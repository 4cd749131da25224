"""The parts of tests/ha/run: machines, the commands of docs/high-availability.md, the stream of jobs, faults, and the verdict."""
