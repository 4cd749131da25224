"""The calls of functions in `api` that an instance's daemons make: recorded from PostgreSQL's log, for replay.c.

The server logs a line when a call begins, with its parameters, and another line when the call has ended. One process writes all lines, so a
call whose end is logged before another call begins had ended by then. Of that order, the record keeps only where one call may depend on
another, so that the replay is not slower than necessary: no call waits for one that writes nothing, and calls of process managers do not
wait for each other. Calls that changed nothing in the run are left out, because they might change something in the replay: calls that the
database refused, and commits that started nothing because a job was locked.
"""
import json
import re
import struct

BEGIN, END = 1, 2  # marks: the clock starts when the first of these is sent, and stops when the last of those is answered
ALONE = {"node_report": 4, "schedule_commit": 4}  # mark: the session sends no other call until this one is complete. A deferred report continues
#                                                  with node_apply; a commit that gave up waiting for a row lock is sent again.
WAITED_FOR = ("job_number", "job_submit", "node_register", "schedule_commit", "node_report")
ROLES = ("rota_jobmgr", "rota_jobmgr_leader", "rota_jobmgr_admin", "rota_nodemgr", "rota_runner")  # of daemons; is_node() adds the logins of nodes
SETTINGS = """
logging_collector = on
log_destination = 'jsonlog'
log_directory = '{folder}'
log_filename = 'calls'
log_rotation_age = 0
log_rotation_size = 0
log_statement = 'all'
log_duration = on
"""
EXECUTE = re.compile(r"execute [^:]*: (.*)", re.S)
DURATION = re.compile(r"duration: ([0-9.]+) ms")
FUNCTION = re.compile(r"api\.(\w+)")
PARAMETER = re.compile(r"\$\d+ = (?:(NULL)|'((?:[^']+|'')*)')")


def settings(folder):
    """For postgresql.conf: the log goes to FOLDER/calls.json."""
    return SETTINGS.format(folder=folder)


def function(statement):
    name = FUNCTION.search(statement)
    return name and name.group(1)


def packed(text):
    if text is None:
        return struct.pack("<I", 0xFFFFFFFF)
    data = text.encode()
    return struct.pack("<I", len(data)) + data + b"\0" * (4 - len(data) % 4)


class Session:
    def __init__(self, number, user):
        self.number, self.user, self.calls, self.open, self.last = number, user, 0, "", None
        self.ended = 0  # number of calls up to the last ended one that others wait for


def is_node(user):
    return user.startswith("rota_node_")


def is_daemon(user):
    return user in ROLES or is_node(user)


class Record:
    """The calls of a log; .write() writes them in the form that replay.c reads."""

    def __init__(self, log, begin, end, started):
        self.log, self.marks = log, {begin: BEGIN, end: END}
        self.sessions, self.statements, self.calls, self.refused = {}, {}, [], []  # refused: (function, error message)
        self.started = started  # ids of the transactions that started steps, as strings
        self.spent = {}  # function: (number of calls, milliseconds of all)

    def read(self):
        with open(self.log, encoding="utf-8") as lines:
            for line in lines:
                entry = json.loads(line)
                if is_daemon(entry.get("user", "")) and "message" in entry:
                    self.take(entry)

    def take(self, entry):
        session = self.sessions.setdefault(entry["session_id"], Session(len(self.sessions), entry["user"]))
        begins = EXECUTE.match(entry["message"])
        if begins and function(begins.group(1)) == "node_apply":
            session.open = ""
        elif begins:
            session.calls += 1
            session.open = begins.group(1)
            ended = {other.number: other.ended for other in self.sessions.values() if not (is_node(other.user) and is_node(session.user))}
            session.last = (session.number, session.open, ended, entry.get("detail", ""))
            self.calls.append(session.last)
        elif session.open and entry["error_severity"] == "ERROR":
            self.refused.append((function(session.open), entry["message"]))
            self.leave_out(session)
        elif session.open and entry["message"].startswith("duration:"):
            name = function(session.open)
            self.spend(name, entry["message"])
            if name == "schedule_commit" and str(entry["txid"]) not in self.started:
                self.leave_out(session)
            elif name in WAITED_FOR:
                session.ended = session.calls
            session.open = ""

    def leave_out(self, session):
        self.calls.remove(session.last)
        session.calls -= 1
        session.open = ""

    def spend(self, name, message):
        count, spent = self.spent.get(name, (0, 0.0))
        self.spent[name] = count + 1, spent + float(DURATION.match(message).group(1))

    def write(self, path):
        for _, statement, _, _ in self.calls:
            self.statements.setdefault(statement, len(self.statements))
        sessions = sorted(self.sessions.values(), key=lambda session: session.number)
        with open(path, "wb") as file:
            file.write(struct.pack("<I", len(self.statements)) + b"".join(packed(statement) for statement in self.statements))
            file.write(struct.pack("<I", len(sessions)))
            for session in sessions:
                file.write(packed(session.user) + struct.pack("<I", session.calls))
            for number, statement, ended, detail in self.calls:
                values = [None if null else value.replace("''", "'") for null, value in PARAMETER.findall(detail)]
                file.write(struct.pack("<III", number, self.statements[statement], self.marks.get(function(statement), 0) | ALONE.get(function(statement), 0)))
                file.write(struct.pack(f"<{len(sessions)}I", *(ended.get(session.number, 0) for session in sessions)))
                file.write(struct.pack("<I", len(values)) + b"".join(map(packed, values)))
