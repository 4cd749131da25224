"""The audit of sub-steps: what their tasks wrote into the ledger, against rota.substep.

An attempt that ended by itself has all of its sub-steps in the database. Of an attempt that was cut off, sub-steps may be missing
or open, but what began in it began once for each run.
"""
from collections import namedtuple

# One row of rota.substep, or of an attempt without sub-steps (`substep` is 0). `whole`: the attempt ended by itself. `grown`: it
# had growths or gave nodes back, so runs of its sub-steps may have been lost with nodes.
Row = namedtuple("Row", "label attempt whole substep tasks retry runs state exit_code cause command grown", defaults=[False])

QUERY = """
    select internal.step_label(t.job_id, t.step_id), t.attempt, coalesce(t.cause = 'exit', false), coalesce(s.substep, 0), coalesce(s.tasks, 0),
        coalesce(s.retry, 0), coalesce(s.runs, 0), coalesce(s.state, ''), coalesce(s.exit_code, -1), coalesce(s.cause, ''),
        translate(coalesce(s.command, ''), E'\\t\\n', '  '), exists (select from rota.growth g
            where g.grown_job_id = t.job_id and g.grown_step_id = t.step_id and g.grown_attempt = t.attempt)
            or exists (select from rota.allocation a
                where a.job_id = t.job_id and a.step_id = t.step_id and a.attempt = t.attempt and a.given_back_at is not null)
    from rota.attempt t left join rota.substep s on s.job_id = t.job_id and s.step_id = t.step_id and s.attempt = t.attempt"""


def rows_of(instance):
    return [Row(label, int(attempt), whole == "t", int(substep), int(tasks), int(retry), int(runs), state, int(code), cause, command, grown == "t")
            for label, attempt, whole, substep, tasks, retry, runs, state, code, cause, command, grown in instance.sql(QUERY) or []]


def name(label, attempt, substep, task=None):
    return f"{label}.{substep} attempt {attempt}" + ("" if task is None else f" task {task}")


def judge_substeps(verdict, ledger, instance):
    judge_lines(verdict, ledger)
    judge_rows(verdict, ledger, rows_of(instance))


def judge_lines(verdict, ledger):
    """Check the ledger by itself: every end is that of the process that began last."""
    for key, lines in ledger.substeps.items():
        last = None
        for _, what, process, code in lines:
            if what == "end" and last != ("begin", process, code):
                verdict.wrong.append(f"{name(*key)} ended as another process than the one that began")
            last = (what, process, code)


def judge_rows(verdict, ledger, rows):
    whole = {(row.label, row.attempt): row.whole for row in rows}
    known = {(row.label, row.attempt, row.substep): row for row in rows if row.substep}
    for label, attempt, substep in sorted({key[:3] for key in ledger.substeps}):
        if (label, attempt) not in whole:
            verdict.wrong.append(f"{name(label, attempt, substep)} ran, and the database knows no such attempt")
        elif whole[label, attempt] and (label, attempt, substep) not in known:
            verdict.lost.append(f"{name(label, attempt, substep)} ran, and the database does not know it")
    for key, row in sorted(known.items()):
        if f" {row.label}.{row.attempt} " not in row.command:
            verdict.wrong.append(f"{name(*key)} is of another job: {row.command}")
        tasks = {task: ledger.substeps.get((*key, task), []) for task in range(row.tasks)}
        judge_runs(verdict, row, tasks)
        if row.whole:
            judge_end(verdict, row, tasks)


def judge_runs(verdict, row, tasks):
    """No run of a sub-step begins twice. In a whole attempt only the loss of a node ends a task early, so each begin has its end before the next
    begin. If nodes may be lost or given back, this holds for the last run only."""
    for task, lines in tasks.items():
        words = [line[1] for line in lines]
        most = row.runs if row.whole else row.retry + 1
        if words.count("begin") > most:
            verdict.doubled.append(f"{name(row.label, row.attempt, row.substep, task)} began {words.count('begin')} times in {most} runs")
        elif row.whole and row.grown:
            if words[-2:] != ["begin", "end"]:
                verdict.lost.append(f"{name(row.label, row.attempt, row.substep, task)} is said to have ended ({row.state}, {row.cause}), and "
                                    f"its last run did not get so far: {' '.join(words)}")
        elif row.whole and words.count("begin") < row.runs:
            verdict.lost.append(f"{name(row.label, row.attempt, row.substep, task)} is said to have run {row.runs} times, and began "
                                f"{words.count('begin')} times")
        elif row.whole and words != ["begin", "end"] * row.runs:
            verdict.lost.append(f"{name(row.label, row.attempt, row.substep, task)} is said to have ended ({row.state}, {row.cause}), and did "
                                f"not get so far: {' '.join(words)}")


def judge_end(verdict, row, tasks):
    code = max((lines[-1][3] for lines in tasks.values() if lines), default=0)
    expected = ("failed" if code else "completed", code, "exit")
    if (row.state, row.exit_code, row.cause) != expected:
        verdict.wrong.append(f"{name(row.label, row.attempt, row.substep)} is {row.state} with {row.exit_code} ({row.cause}), not "
                             f"{expected[0]} with {code}")
