"""link_swap.py A B [C D]...: exchanges the names A and B, C and D and so on, again and again, with short pauses, until it is killed."""
import ctypes
import random
import sys
import time

AT_FDCWD, RENAME_EXCHANGE = -100, 2
libc = ctypes.CDLL(None, use_errno=True)
names = [name.encode() for name in sys.argv[1:]]
while True:
    for _ in range(random.randrange(100)):
        for a, b in zip(names[::2], names[1::2]):
            if libc.renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE):
                sys.exit(f"renameat2: errno {ctypes.get_errno()}")
    time.sleep(random.random() / 100)
