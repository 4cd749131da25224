"""The campaign's parts: the instance, its load, the faults, and what is made of it all in the end."""
