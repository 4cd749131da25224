// plan.js - draws when the waiting steps of a plan are expected to start and to end: a line for each step, time to the right. page.js
// calls drawPlan() and has the functions that it uses.
"use strict";
const PLAN_MOST = 300; // lines of the picture

// Returns a time in seconds from the time of the plan; null: not known.
function planSeconds(time) {
	return time === null ? null : Math.max(0, (Date.parse(time) - Date.parse(data.now)) / 1000);
}

// Returns a duration in words: 1:04:05, 2-01:04:05.
function planDuration(seconds) {
	const s = Math.round(seconds), days = Math.floor(s / 86400), rest = words(s % 86400, "s");
	return days ? days + "-" + rest.padStart(8, "0") : rest;
}

// Returns the starts and ends of a row, before and after the changes. An end is null if the start or the time limit is not known.
function planMoments(row) {
	const at = time => {
		const from = planSeconds(time);
		return {from, to: from === null || row.time_limit_s === null ? null : from + row.time_limit_s};
	};
	return {before: data.compared ? at(row.expected_at) : null, after: at(data.compared ? row.then_at : row.expected_at)};
}

// Returns the seconds that the axis shows: as far as the last of the moments, but without those that are far behind the others, for
// which it has a little room for bars that end in an arrow.
function planLength(moments) {
	const sorted = moments.filter(m => m > 0).sort((a, b) => a - b);
	let last = Math.floor(sorted.length / 2);
	while (last + 1 < sorted.length && sorted[last + 1] <= 4 * sorted[last]) last++;
	if (!sorted.length) return 3600;
	return last + 1 < sorted.length ? 1.05 * sorted[last] : sorted[last];
}

// Returns the rows to draw in their order; if they are too many, those that the changes move are drawn first.
function planRows() {
	const numbered = data.rows.map((row, i) => ({row, i}));
	if (data.compared && numbered.length > PLAN_MOST) numbered.sort((a, b) => (a.row.verdict === "same") - (b.row.verdict === "same") || a.i - b.i);
	return numbered.slice(0, PLAN_MOST).sort((a, b) => a.i - b.i).map(one => one.row);
}

// Returns what is written at the end of a row.
function planVerdict(row, {before, after}) {
	if (after.from === null) return row.verdict;
	const then = after.from < 1 ? "now" : "in " + planDuration(after.from);
	if (!data.compared) return then;
	if (row.verdict === "new") return "new: " + then;
	return row.verdict === "same" || before.from === null ? row.verdict : row.verdict + " by " + planDuration(Math.abs(after.from - before.from));
}

// Draws a bar from start to end, if the start is known. What is behind the end of the axis becomes an arrow at its end.
function planBar(svg, axis, kind, {from, to}, y, height, title) {
	if (from === null) return;
	const end = axis.left + axis.width, x = Math.min(end, axis.left + axis.width * from / axis.length), cut = to === null || to > axis.length;
	const until = cut ? end : axis.left + axis.width * to / axis.length, wide = Math.max(cut ? 0 : 2, until - x), group = add(svg, "g", {class: kind});
	add(group, "title", {}, title);
	if (wide) add(group, "rect", {class: kind, x: cut ? x : Math.min(x, end - wide), y, width: wide, height, rx: 1.5, "data-from": from, "data-to": to === null ? "" : to});
	if (cut) add(group, "path", {class: kind, d: `M${end + 2},${y - 1} l7,${height / 2 + 1} l-7,${height / 2 + 1} z`});
}

function drawPlan() {
	page.className = "plan";
	const rows = planRows(), moments = rows.map(planMoments), known = moments.flatMap(m => [m.before, m.after]).filter(m => m);
	const axis = {left: 200, width: 600, length: planLength(known.flatMap(m => [m.from, m.to]))}, line = data.compared ? 30 : 24, top = 22, bottom = top + rows.length * line;
	add(page, "p", {class: "when"}, "Time from " + words(data.now, "time") + " UTC. A bar is from the expected start of a step to the end of its time limit; an arrow means later than the axis.");
	if (!rows.length) return;
	if (rows.length < data.rows.length) add(page, "p", {class: "when"}, `${rows.length} of ${data.rows.length} steps${data.compared ? ", first of all those whose start changes" : ""}.`);
	const svg = drawing("plan", 1000, bottom + 4);
	for (const tick of ticksOf(axis.length)) {
		const at = axis.left + axis.width * tick.at / axis.length, anchor = at > axis.left + axis.width - 20 ? "end" : tick.at ? "middle" : "start";
		add(svg, "line", {class: "rule", x1: at, x2: at, y1: top - 4, y2: bottom});
		add(svg, "text", {class: "dim tick", x: at, y: 13, "text-anchor": anchor, "data-seconds": tick.at}, tick.at ? tick.text : "now");
	}
	rows.forEach((row, i) => {
		const {before, after} = moments[i], y = top + i * line, middle = y + line / 2, verdict = planVerdict(row, moments[i]), lost = after.from === null;
		const kind = data.compared ? row.verdict : "bar", title = `${row.label}, ${row.partition}: ${verdict}${row.message ? "; " + row.message : ""}`;
		add(add(svg, "text", {x: axis.left - 10, y: middle + 4, "text-anchor": "end"}, fit(row.label, axis.left - 14)), "title", {}, title);
		if (before) planBar(svg, axis, "before", before, y + 4, 8, title);
		planBar(svg, axis, kind, after, before ? y + 15 : y + 4, before ? 11 : 16, title);
		if (lost) add(add(svg, "text", {class: "dim", x: axis.left + 6, y: before ? y + 25 : middle + 4}, fit(row.message, axis.width - 12)), "title", {}, title);
		add(add(svg, "text", {class: lost ? "never" : "dim", x: axis.left + axis.width + 16, y: middle + 4}, fit(verdict, 180)), "title", {}, title);
		add(svg, "line", {class: "rule", x1: 0, x2: 1000, y1: y + line, y2: y + line});
	});
	if (data.compared) legend(["before", ...rows.filter((row, i) => moments[i].after.from !== null).map(row => row.verdict)]);
}
