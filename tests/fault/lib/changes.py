"""Preparations of nodes in the campaign (--changes): jobs of kind "prepared" ask for one, with arguments, and say where a node is not as
they asked. The program leaves a file for each node, and notes where two of it run for one node at the same time.
"""
import os

PREPARED = ("prepared", 6, """#ROTA --node-prep=mode:@MODE@ --exclusive
as_asked() {
	[ "$(cat "${TASK_FILE%/*}/changes/$ROTA_NODE")" = "@MODE@" ] || echo "$ROTA_STEP_LABEL attempt $ROTA_ATTEMPT on $ROTA_NODE" >>"${TASK_FILE%/*}/changes/wrong"
}
prepared() {
	as_asked
	sleep D
	as_asked
}
during prepared
""")

PROGRAM = """#!/bin/bash
# mode prepare|undo|verify NODE PREP [ARGS]
cd {folder}/changes || exit 2
exec 9>"lock.$2"
flock -n 9 || {{ echo "$*" >>doubled; exit 2; }}
sleep 0.2
case $1 in
prepare) echo "$4" >"new.$2" && mv "new.$2" "$2" ;;
undo) rm -f "$2" ;;
verify) [ "$(cat "$2")" = "$4" ] ;;
esac
"""


def prepare(folder):
    """Write the program and make the folder for its records, both in a folder of their own."""
    for place, mode in (("programs", 0o755), ("changes", 0o1777)):
        os.mkdir(f"{folder}/{place}")
        os.chmod(f"{folder}/{place}", mode)
    with open(f"{folder}/programs/mode", "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(folder=folder))
    os.chmod(f"{folder}/programs/mode", 0o755)


def judge_changes(verdict, instance):
    """Check that no task saw another preparation than it requested, no two runs of the program overlapped, and no change is open or unverified."""
    place = f"{instance.folder}/changes"
    for name, findings in (("wrong", verdict.wrong), ("doubled", verdict.doubled)):
        if os.path.exists(f"{place}/{name}"):
            with open(f"{place}/{name}", encoding="utf-8") as file:
                findings += [f"preparation: {line.strip()}" for line in file]
    rows = instance.sql("""select node, state, coalesce(message, '') from rota.node_reboot where ended_at is null or state = 'failed'""")
    verdict.wrong += [f"the change of node {node} is {state} {message}".strip() for node, state, message in rows or []]
    done = instance.sql("select count(*) from rota.node_reboot where state = 'done'")
    verdict.changes = int(done[0][0]) if done else 0
    if instance.machine and not instance.sql("select 1 from rota.node_reboot where state = 'done' and image is not null limit 1"):
        verdict.wrong.append("no node had its image changed")
