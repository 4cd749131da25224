#!/usr/bin/python3
"""fuse_stuck.py FOLDER - mounts a FUSE file system on FOLDER whose server answers nothing but the first request.

A thread of it asks the file system for a file, and the server reads that request without an answer. Such a process cannot be killed,
because the kernel waits for the answer, and the process itself keeps the connection open."""
import array, os, signal, socket, struct, subprocess, sys, threading, time

folder = sys.argv[1]
ours, theirs = socket.socketpair()
subprocess.run(["fusermount3", "--", folder], check=True, pass_fds=[theirs.fileno()],
	env={**os.environ, "_FUSE_COMMFD": str(theirs.fileno())})
fd = socket.recv_fds(ours, 1, 1)[1][0]

request = os.read(fd, 1 << 17)
unique = struct.unpack_from("<IIQ", request)[2]
# The answer to FUSE_INIT, of version 7.19.
body = struct.pack("<IIIIHHI", 7, 19, 0, 0, 16, 16, 4096)
os.write(fd, struct.pack("<IiQ", 16 + len(body), 0, unique) + body)


def ask():
	try:
		os.stat(folder + "/file")
	except OSError:
		pass


threading.Thread(target=ask, daemon=True).start()
os.read(fd, 1 << 17)
print("stuck", flush=True)
if sys.argv[2:] == ["stop"]:
	os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(1000)
