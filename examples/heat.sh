#!/bin/bash
#ROTA --job-name=heat --comment="a plate with a hot pipe, solved and drawn"
#ROTA --time=20:00 --mem=200M
#
# Solves the heat equation on a metal plate and draws it at six moments. The solver is a C program beside this script,
# compiled by the first step. The pictures are the same whether Rota draws them, two at a time, or plain bash does.
#
#   rota submit examples/heat.sh            or        bash examples/heat.sh
#
# HEAT_SOURCES   the folder with heat.c (default: the folder heat beside this script, or below where you are)
# HEAT_OUT       where the pictures and the report go (default: ./heat-out)
# HEAT_SIZE      width and height of the mesh (default: 240x160)
# HEAT_STEPS     time steps (default: 20000)
set -euo pipefail
export LC_ALL=C
out=$(realpath -m "${HEAT_OUT:-heat-out}")
work=$out/work
size=${HEAT_SIZE:-240x160}
# A job manager keeps its own copy of the script, so "beside this script" is only one of the places to look.
for sources in "${HEAT_SOURCES:-}" "$(dirname "$0")/heat" "$PWD/heat" "$PWD/examples/heat"; do
	[ -f "$sources/heat.c" ] && break
done

# mesh: the solver and what it solves. The mesh is text: look at it with less -S.
#ROTA step mesh
[ -f "$sources/heat.c" ] || { echo "set HEAT_SOURCES to the folder examples/heat" >&2; exit 1; }
rm -rf "$out"
mkdir -p "$work"
cc -std=gnu17 -O2 -ffp-contract=off -Wall -Wextra "$sources/heat.c" -o "$work/heat" -lpng -lm
"$work/heat" mesh "${size%x*}" "${size#*x}" >"$out/mesh.txt"
head -n 1 "$out/mesh.txt"

# solve: six fields, each after twice the time of the one before.
#ROTA step solve --after=mesh --same-nodes=mesh
"$work/heat" solve "${HEAT_STEPS:-20000}" 6 "$work" <"$out/mesh.txt"

# render: element i draws field i, at most two at a time, on the node that has the fields in its memory.
#ROTA step render --after=solve --same-nodes=solve --array=0-5%2
for ROTA_ARRAY_INDEX in ${ROTA_ARRAY_INDEX:-$(seq 0 5)}; do
	"$work/heat" render "$work/$ROTA_ARRAY_INDEX.field" >"$out/heat-$ROTA_ARRAY_INDEX.png"
	echo "heat-$ROTA_ARRAY_INDEX.png: $(stat -c %s "$out/heat-$ROTA_ARRAY_INDEX.png") bytes"
done

# report: what the pictures show, in numbers.
#ROTA step report --after=render
{
	echo "A plate of ${size%x*} by ${size#*x} cells; temperatures in degrees, flow in degrees per time step."
	echo
	"$work/heat" report "$work"/[0-9].field
} >"$out/report.txt"
cat "$out/report.txt"

#ROTA step tidy --after=report:any
rm -rf "$work"
