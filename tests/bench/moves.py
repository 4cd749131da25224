"""A drawn month of load with and without moves of running steps: waiting time and energy.

moves.c draws the load and lets the scheduler alone work through it, on a cluster like those of plan.c. The same load is run in three modes:
without moves; with moves that make room for steps that wait; and with these and moves that empty nodes. Idle nodes are powered off in all
modes. The figures are means over several months (seeds), because one move changes which steps compete afterwards, so one month shows
little. The limit of each figure is that of the same months without moves. The same seeds give the same figures on any machine.
"""
MODES = {"none": "without moves", "room": "room", "all": "room and empty"}
FIGURES = {"wait_s": ("mean wait", "s"), "wait_wide_s": ("mean wait of steps of several nodes", "s"), "wait_cpu_s": ("mean wait of a CPU asked for", "s"),
           "energy_kwh": ("energy", "kWh"), "lost_cpu_h": ("lost by moves", "CPU h"), "moves_room": ("moves for room", ""),
           "moves_empty": ("moves to empty nodes", "")}


def month(bench, mode, nodes, days, load, seed):
    lines = bench.program("moves", mode, nodes, days, load, seed).splitlines()
    return {name: float(value) for name, value in map(str.split, lines)}


def run(bench):
    nodes, days, seeds = (4, 3, 2) if bench.toy else (16, 30, 16)
    for load in (0.5, 0.7):
        means = {}
        better = {mode: 0 for mode in MODES}
        for seed in range(1, seeds + 1):
            months = {mode: month(bench, mode, nodes, days, load, seed) for mode in MODES}
            for mode, one in months.items():
                better[mode] += one["wait_wide_s"] < months["none"]["wait_wide_s"]
                for name, value in one.items():
                    means[mode, name] = means.get((mode, name), 0) + value / seeds
        if bench.toy and months["none"] != month(bench, "none", nodes, days, load, seed):
            raise RuntimeError("the same seed gives another month")
        for mode, title in list(MODES.items())[1:]:
            for name, (what, unit) in FIGURES.items():
                if mode == "room" and name == "moves_empty":
                    continue
                bench.figure(f"{title}, load {load:.0%}: {what}", means[mode, name], unit, limit=means["none", name] or None,
                             limit_name=MODES["none"])
            bench.figure(f"{title}, load {load:.0%}: months of {seeds} in which steps of several nodes wait less", better[mode], "")
