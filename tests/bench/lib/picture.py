"""Growth curves as SVG, drawn by gnuplot."""
import os
import re
import subprocess


def quoted(word):
    return "'" + word.replace("'", "''") + "'"


def draw(folder, name, xlabel, ylabel, series, log=""):
    """Draw series {name: [(x, y), ...]}; log: the axes with a logarithmic scale, such as 'x' or 'xy'. Returns the path of the picture."""
    path = os.path.join(folder, re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") + ".svg")
    lines = ["set terminal svg size 720,440 font 'sans,12' background '#ffffff' noenhanced", f"set output {quoted(path)}", f"set title {quoted(name)}",
             f"set xlabel {quoted(xlabel)}", f"set ylabel {quoted(ylabel)}", "set grid", "set key outside below", "set bmargin 5", "set offsets 0, 0, graph 0.05, 0"]
    lines += [f"set logscale {log}"] if log else []
    lines += [] if "y" in log else ["set yrange [0:*]"]
    for i, points in enumerate(series.values()):
        lines += [f"$data{i} << end", *(f"{x} {y}" for x, y in points), "end"]
    lines.append("plot " + ", ".join(f"$data{i} using 1:2 with linespoints linewidth 2 pointtype 7 pointsize 0.5 title {quoted(title)}"
                                     for i, title in enumerate(series)))
    done = subprocess.run(["gnuplot"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=False)
    if done.returncode or not os.path.getsize(path):
        raise RuntimeError(f"gnuplot: {done.stderr.strip()}")
    return path
