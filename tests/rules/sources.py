"""The SQL files that tests/rules/widths and lengths read."""
import os

FOLDERS = ("sql", "migrations")


def sql_files(root):
    """Paths of the SQL files, relative to root."""
    for folder in FOLDERS:
        for place, folders, files in os.walk(os.path.join(root, folder)):
            folders.sort()
            yield from (os.path.relpath(os.path.join(place, name), root) for name in sorted(files) if name.endswith(".sql"))
