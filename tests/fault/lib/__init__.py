"""The campaign's parts: the instance, its load, the faults, and the verdict."""
