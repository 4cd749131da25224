// page.js - draws a report from its numbers (#data, the answer of GET /v1/report) or a plan (plan.js): charts first, then the table they
// come from.
"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const page = document.getElementById("page");
const COLOURS = ["#3b7dd8", "#d98324", "#2e9e5b", "#d64545", "#8b5fc7", "#1b9aaa", "#c2559d", "#7a8450", "#8a8f98"];

function add(parent, tag, attributes, text) {
	const svg = parent.namespaceURI === "http://www.w3.org/2000/svg" || tag === "svg";
	const node = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
	for (const name in attributes) node.setAttribute(name, attributes[name]);
	if (text !== undefined) node.textContent = text;
	parent.appendChild(node);
	return node;
}

function two(n) {
	return String(n).padStart(2, "0");
}

// A number with its noun: 1 CPU, 2 CPUs.
function counted(number, noun) {
	return number + " " + noun + (number === 1 ? "" : "s");
}

// A number in the unit of its column, for people.
function words(value, unit) {
	if (value === null || value === undefined) return "–";
	if (unit === "s") {
		const s = Math.round(value), h = Math.floor(s / 3600);
		return h + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
	}
	if (unit === "percent") return value.toFixed(1) + " %";
	if (unit === "money") return value.toLocaleString("en", {minimumFractionDigits: 2, maximumFractionDigits: 2});
	if (unit === "number") return value.toLocaleString("en", {maximumFractionDigits: 9});
	if (unit === "time") return data.period === "hour" ? value.slice(0, 16).replace("T", " ") : value.slice(0, 10);
	return typeof value === "number" ? value.toLocaleString("en", {maximumFractionDigits: 2}) : String(value);
}

const UNITS = {h: "hours", s: "h:min:s", percent: "%", mib: "MiB"};
const PERIODS = {hour: 3600, day: 86400, month: 30 * 86400};

// Returns a number as words() does, followed by its unit, for places without a column title.
function measured(value, unit) {
	return words(value, unit) + (value !== null && unit === "h" ? " h" : value !== null && unit === "mib" ? " MiB" : "");
}

const ruler = document.createElement("canvas").getContext("2d");
ruler.font = "12px system-ui, sans-serif";

// Returns the beginning of a text that fits into `room` units of a drawing; a text that was cut ends in an ellipsis.
function fit(text, room) {
	const letters = [...text];
	if (ruler.measureText(text).width <= room) return text;
	while (letters.length && ruler.measureText(letters.join("") + "…").width > room) letters.pop();
	return letters.length ? letters.join("") + "…" : "";
}

// Makes a drawing of this size. A drawing that is wider than the page is scrolled, not made smaller.
function drawing(id, width, height) {
	const svg = add(add(page, "div", {class: "wide"}), "svg", {id, class: "chart", viewBox: "0 0 " + width + " " + height, role: "img"});
	if (width > 1000) svg.style.width = width + "px";
	return svg;
}

function inkOn(state) {
	return "fill: " + (["pending", "suspended", "skipped"].includes(state) ? "#1c2430" : "#fff");
}

function legend(states) {
	const line = add(page, "p", {class: "legend"});
	for (const state of [...new Set(states)].sort()) {
		add(add(line, "svg", {viewBox: "0 0 12 12"}), "rect", {class: state, width: 12, height: 12, rx: 2});
		add(line, "span", {}, state);
	}
	return line;
}

// The title of a column in lower case, but for units and abbreviations.
function titleText(column) {
	return column.title.toLowerCase().replace(/\b(cpu|gpu)/, name => name.toUpperCase()).replace("gib", "GiB").replace("kwh", "kWh").replace("co2e", "CO2e");
}

function isText(column) {
	return column.unit === "text" || column.unit === "time";
}

// The columns of the table; of a job's or a plan's, those that say nothing of any of its steps are left out.
function shownColumns() {
	return data.report === "job" || data.report === "plan" ? data.columns.filter(c => data.rows.some(row => row[c.name])) : data.columns;
}

function drawTable() {
	const columns = shownColumns();
	add(page, "h2", {}, "Numbers");
	const table = add(add(page, "div", {class: "wide"}), "table", {id: "numbers"});
	const head = add(add(table, "thead", {}), "tr", {});
	for (const c of columns) add(head, "th", {class: isText(c) ? "" : "number", title: c.help}, titleText(c) + (c.unit === "mib" ? " (MiB)" : ""));
	const body = add(table, "tbody", {});
	for (const row of data.rows) {
		const line = add(body, "tr", {});
		for (const c of columns)
			add(line, "td", {class: isText(c) ? "" : "number", title: isText(c) ? row[c.name] || "" : "", "data-name": c.name,
				"data-value": row[c.name] === null ? "" : row[c.name]}, words(row[c.name], c.unit));
	}
}

// Returns the label of a row: all of its keys except the period.
function label(row) {
	return data.by.map(b => row[b] || "(none)").join(" / ") || "all";
}

// Draws a chart over time: a line for each of the largest groups, and one for the sum of the others if a sum makes sense.
function drawLines(bar) {
	const times = [...new Set(data.rows.map(r => r[data.period]))].sort();
	const place = new Map(times.map((t, i) => [t, i]));
	const sums = new Map();
	for (const row of data.rows) sums.set(label(row), (sums.get(label(row)) || 0) + (row[bar.name] || 0));
	const names = [...sums.keys()].sort((a, b) => sums.get(b) - sums.get(a));
	const shown = names.slice(0, 8), adds = bar.unit === "h" || bar.unit === "count";
	if (adds && names.length > 8) shown.push("others");
	const series = shown.map(() => times.map(() => null));
	for (const row of data.rows) {
		let s = shown.indexOf(label(row));
		if (s < 0 && adds) s = shown.length - 1;
		if (s >= 0 && row[bar.name] !== null) series[s][place.get(row[data.period])] = (series[s][place.get(row[data.period])] || 0) + row[bar.name];
	}
	const holder = add(page, "div", {id: "chart", class: "chart"});
	const ink = getComputedStyle(document.body).color, period = PERIODS[data.period];
	const axis = {stroke: ink, grid: {stroke: "#8884"}, ticks: {stroke: "#8884"}};
	const seconds = times.map(t => Date.parse(t.length === 10 ? t + "T00:00:00Z" : t) / 1000);
	const iso = new Map(seconds.map((second, i) => [second, times[i]]));
	// With one point of time, uPlot would show a range of years, so set the range. Ticks are at periods only, since there are no
	// figures between them. A month of 30 days and a year of 365 stand for those of the calendar.
	const day = 86400, month = 30 * day, year = 365 * day;
	const steps = [3600, 2 * 3600, 3 * 3600, 6 * 3600, 12 * 3600, day, 2 * day, 5 * day, 10 * day, month, 2 * month, 3 * month, 6 * month, year, 2 * year, 5 * year, 10 * year];
	const format = value => value === null || value === undefined ? "–" : measured(value, bar.unit);
	const date = second => {
		const text = new Date(second * 1e3).toISOString();
		return data.period === "hour" ? text.slice(11, 16) + "\n" + text.slice(0, 10) : text.slice(0, data.period === "month" ? 7 : 10);
	};
	const most = Math.max(...series.flat().filter(v => v !== null), 0);
	new uPlot({width: Math.min(holder.clientWidth || 1000, 1040), height: 360, tzDate: ts => uPlot.tzDate(new Date(ts * 1e3), "UTC"),
		scales: {x: {range: (u, from, until) => [from - period / 2, (seconds.length > 1 ? until : from) + period / 2]}, y: {range: [0, most > 0 ? most * 1.05 : 1]}},
		axes: [{...axis, incrs: steps.filter(s => s >= period), space: 80, values: (u, ticks) => ticks.map(date)},
			{...axis, size: 70, ...(bar.unit === "s" ? {values: (u, ticks) => ticks.map(t => words(t, "s"))} : {}),
			label: titleText(bar) + (UNITS[bar.unit] && !bar.title.toLowerCase().includes(UNITS[bar.unit]) ? " (" + UNITS[bar.unit] + ")" : "")}],
		series: [{label: data.period, value: (u, second) => iso.has(second) ? words(iso.get(second), "time") : "–"},
			...shown.map((name, i) => ({label: name, stroke: COLOURS[i % COLOURS.length], width: 2, points: {show: times.length < 50}, value: (u, v) => format(v)}))],
		hooks: {ready: [u => Object.assign(holder.dataset, {from: u.scales.x.min, until: u.scales.x.max})]},
	}, [seconds, ...series], holder);
}

function drawBars(bar) {
	const rows = data.rows.slice(0, 40), most = Math.max(...rows.map(r => r[bar.name] || 0), 1e-9), line = 24, left = 190, room = 680;
	const svg = drawing("chart", 1000, rows.length * line + 8);
	rows.forEach((row, i) => {
		const length = room * (row[bar.name] || 0) / most, name = label(row);
		add(add(svg, "text", {x: left - 8, y: i * line + 17, "text-anchor": "end"}, fit(name, left - 12)), "title", {}, name);
		const box = add(svg, "rect", {class: "bar", x: left, y: i * line + 4, height: line - 7, rx: 2, width: Math.max(1, length), "data-value": row[bar.name] || 0});
		add(box, "title", {}, name + ": " + measured(row[bar.name], bar.unit));
		add(svg, "text", {class: "dim", x: left + 8 + length, y: i * line + 17}, measured(row[bar.name], bar.unit));
	});
	if (data.rows.length > rows.length) add(page, "p", {class: "when"}, "The first " + rows.length + " of " + data.rows.length + " rows.");
}

// Returns the column of each step in the graph: to the right of all steps that it waits for. Steps that run with each other share
// a column.
function columnsOf(requests, edges) {
	const column = new Map(requests.map(r => [r.name, 0]));
	for (let round = 0, moved = true; moved && round <= requests.length; round++) {
		moved = false;
		for (const e of edges) {
			const from = column.get(e.from), to = column.get(e.to);
			const least = e.kind === "after" ? from + 1 : e.kind === "with" ? from : 0;
			if (to < least) column.set(e.to, least), moved = true;
			if (e.kind === "with" && from < to) column.set(e.from, to), moved = true;
		}
	}
	return column;
}

// Returns the items of each column from top to bottom: steps, and a place for each edge that crosses the column, so that no edge goes
// through a box. An item is at the mean height of its neighbours on the left; steps that run with each other are adjacent.
function layersOf(requests, edges, column) {
	const items = new Map(requests.map(r => [r.name, {column: column.get(r.name), name: r.name, left: [], group: r.name}])), layers = [], routes = [];
	for (const e of edges) {
		const [a, b] = column.get(e.from) <= column.get(e.to) ? [items.get(e.from), items.get(e.to)] : [items.get(e.to), items.get(e.from)];
		const route = {edge: e, items: [a]};
		for (let c = a.column + 1; c < b.column; c++) route.items.push({column: c, left: [route.items[route.items.length - 1]]});
		if (a.column < b.column) b.left.push(route.items[route.items.length - 1]);
		route.items.push(b);
		routes.push(route);
		if (e.kind === "with") {
			const old = b.group;
			for (const item of items.values()) if (item.group === old) item.group = a.group;
		}
	}
	for (const item of new Set([...items.values(), ...routes.flatMap(r => r.items)])) (layers[item.column] = layers[item.column] || []).push(item);
	for (const layer of layers) {
		const sums = new Map();
		layer.forEach((item, i) => {
			item.key = item.group || item;
			const sum = sums.get(item.key) || {height: 0, count: 0, first: i};
			for (const l of item.left) sum.height += l.row, sum.count++;
			sums.set(item.key, sum);
		});
		const height = item => { const s = sums.get(item.key); return s.count ? s.height / s.count : s.first; };
		layer.sort((a, b) => height(a) - height(b) || sums.get(a.key).first - sums.get(b.key).first);
		layer.forEach((item, row) => { item.row = row; });
	}
	return {layers, routes, items};
}

// Returns the path of an edge: from the right side of a box to the left side of the next one, straight across the columns between
// them; within a column around its right side.
function routePath(route, x, wide) {
	const [first, ...rest] = route.items, middle = item => item.y + item.height / 2;
	let at = first, path = `M${x(first) + wide},${middle(first)}`;
	if (rest.length === 1 && rest[0].column === first.column)
		return `${path} C${x(first) + wide + 22},${middle(first)} ${x(first) + wide + 22},${middle(rest[0])} ${x(first) + wide},${middle(rest[0])}`;
	for (const item of rest) {
		path += ` C${x(at) + wide + 30},${middle(at)} ${x(item) - 30},${middle(item)} ${x(item)},${middle(item)}`;
		if (!item.name) path += ` L${x(item) + wide},${middle(item)}`;
		at = item;
	}
	return path;
}

// Draws the graph of a job's steps, each to the right of the steps that it waits for.
function drawGraph() {
	const known = new Set(data.requests.map(r => r.name)), edges = data.edges.filter(e => known.has(e.from) && known.has(e.to) && e.from !== e.to);
	if (data.requests.length > 300) {
		add(page, "p", {class: "when"}, "No graph: the job has " + data.requests.length + " steps.");
		return;
	}
	const {layers, routes, items} = layersOf(data.requests, edges, columnsOf(data.requests, edges));
	const elements = new Map();
	for (const s of data.rows) if (s.array_index !== null) elements.set(s.request_id, (elements.get(s.request_id) || 0) + 1);
	const suffix = r => elements.has(r.step_id) ? " [" + elements.get(r.step_id) + "]" : "";
	const longest = Math.max(...data.requests.map(r => ruler.measureText(r.name + suffix(r)).width));
	const wide = Math.min(260, Math.max(90, Math.ceil(longest) + 24)), gap = 60, x = item => 4 + item.column * (wide + gap);
	for (const layer of layers) {
		let y = 4;
		for (const item of layer) {
			Object.assign(item, {y, height: item.name ? 32 : 8});
			y += item.height + 14;
		}
	}
	const bottom = Math.max(...layers.map(l => l[l.length - 1].y + l[l.length - 1].height)) + 4;
	add(page, "h2", {}, "Steps and what they wait for");
	const svg = drawing("graph", Math.max(1000, layers.length * (wide + gap)), bottom);
	for (const route of routes) {
		const e = route.edge, path = add(svg, "path", {class: "edge" + (e.kind === "after" ? "" : " " + e.kind), "data-from": e.from, "data-to": e.to, d: routePath(route, x, wide)});
		add(path, "title", {}, e.to + " " + e.kind.replace("_", " ") + " " + e.from + (e.kind === "after" ? " (" + e.condition + ")" : "") + ": " + e.state);
	}
	for (const r of data.requests) {
		const item = items.get(r.name), end = suffix(r);
		add(add(svg, "rect", {class: r.state, x: x(item), y: item.y, width: wide, height: item.height, rx: 5, "data-step": r.name}), "title", {}, r.name + ": " + r.state);
		add(add(svg, "text", {x: x(item) + 10, y: item.y + 20, style: inkOn(r.state)}, fit(r.name, wide - 20 - ruler.measureText(end).width) + end), "title", {}, r.name + ": " + r.state);
	}
	const line = legend(data.requests.map(r => r.state)), kinds = new Set(edges.map(e => e.kind));
	if (kinds.has("with")) add(line, "span", {}, "– – runs with");
	if (kinds.has("same_nodes") || kinds.has("other_nodes")) add(line, "span", {}, "· · · same or other nodes");
}

// Returns the ticks of an axis from 0 to `length` seconds: at most nine, at round times, in one unit.
function ticksOf(length) {
	const [unit, size] = length <= 120 ? ["s", 1] : length <= 7200 ? ["min", 60] : length <= 48 * 3600 ? ["h", 3600] : ["d", 86400];
	const steps = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, unit === "h" ? 3 : 5, unit === "h" ? 6 : 10, unit === "h" ? 12 : 20, 50, 100, 200, 500, 1000];
	const step = steps.find(s => length / size / s <= 8) || length / size, ticks = [];
	for (let i = 0; i * step <= length / size + 1e-9; i++) {
		const value = Number((i * step).toFixed(3));
		ticks.push({at: value * size, text: i ? value + " " + unit : "0"});
	}
	return ticks;
}

// Returns in words for which step an attempt was preempted, and how.
function preemption(a) {
	return a.preempted_by ? " by " + a.preempted_by + " (" + a.preempted_mode + ")" : "";
}

// Returns in words from which checkpoint an attempt has gone on.
function restart(a) {
	return a.from_generation ? ", from checkpoint " + a.from_generation : "";
}

// Marks in the box of an attempt that begins at `y`: where it was preempted and saved, and that it went on from a checkpoint.
function drawMarks(svg, h, name, x, y, height) {
	const line = (kind, time, text, more) => add(add(svg, "line", {class: kind, x1: x(time), x2: x(time), y1: y, y2: y + height, ...more}), "title", {}, name + ", " + text);
	if (h.from_generation) add(add(svg, "path", {class: "restart", d: `M${x(Date.parse(h.started_at))},${y} l6,${height / 2} l-6,${height / 2} z`, "data-generation": h.from_generation}), "title", {}, name + ", attempt " + h.attempt + restart(h));
	if (h.preempted_at) line("preemption", Date.parse(h.preempted_at), "attempt " + h.attempt + " preempted" + preemption(h), {"data-by": h.preempted_by});
	for (const c of (data.checkpoints || []).filter(c => c.step_id === h.step_id && c.attempt === h.attempt && c.node === h.node))
		line("checkpoint", Date.parse(c.complete_at), "checkpoint " + c.generation, {"data-generation": c.generation});
}

// Draws when and where attempts ran: nodes downwards, time to the right; attempts at the same time on a node are in lanes. The axis
// begins with the submission, unless the job waited so long that nothing else could be seen.
function drawGantt() {
	const held = data.held.filter(h => Number.isFinite(Date.parse(h.started_at)) && Date.parse(h.started_at) <= Date.parse(data.now));
	if (!held.length) return;
	const end = h => Number.isFinite(Date.parse(h.ended_at)) ? Date.parse(h.ended_at) : Date.parse(data.now);
	const submitted = Date.parse(data.submit_at), first = Math.min(...held.map(h => Date.parse(h.started_at))), last = Math.max(...held.map(end));
	const waited = first - submitted <= last - first, begin = waited ? Math.min(submitted, first) : first, length = Math.max(last - begin, 1);
	const names = new Map(data.rows.map(r => [r.step_id, r.label])), nodes = [...new Set(held.map(h => h.node))].sort(), left = 110, width = 880, lane = 18;
	const x = t => left + width * (t - begin) / length, top = 22;
	let y = top;
	add(page, "h2", {}, "Where and when they ran");
	add(page, "p", {class: "when"}, "Time since " + (waited ? "the submission" : "the first start, at " + new Date(first).toISOString().slice(0, 19).replace("T", " ") + " UTC"));
	const svg = drawing("gantt", 1000, 10), grid = add(svg, "g", {});
	for (const node of nodes) {
		const lanes = [], from_y = y;
		for (const h of held.filter(one => one.node === node)) {
			const from = Date.parse(h.started_at), name = names.get(h.step_id) || "";
			const free = lanes.findIndex(until => until <= from), row = free < 0 ? lanes.length : free, state = h.state || "running";
			lanes[row] = end(h);
			const long = Math.max(1.5, x(end(h)) - x(from)), at = Math.min(x(from), left + width - long), indent = h.from_generation ? 10 : 5, part = fit(name, long - indent - 5), shown = part === name || long > 40 ? part : "";
			const box = add(svg, "rect", {class: state, x: at, y: from_y + row * lane, height: lane - 3, rx: 2, width: long, "data-step": name, "data-attempt": h.attempt});
			add(box, "title", {}, name + ", attempt " + h.attempt + ", " + counted(h.cpus, "CPU") + ", " + words((end(h) - from) / 1000, "s") + ": " + state + preemption(h) + restart(h));
			if (shown) add(svg, "text", {class: "within", x: at + indent, y: from_y + row * lane + 12, style: inkOn(state)}, shown);
			drawMarks(svg, h, name, x, from_y + row * lane, lane - 3);
		}
		add(add(svg, "text", {x: left - 10, y: from_y + 12, "text-anchor": "end"}, fit(node, left - 14)), "title", {}, node);
		y = from_y + lanes.length * lane + 8;
		add(svg, "line", {class: "rule", x1: left, x2: left + width, y1: y - 5, y2: y - 5});
	}
	for (const tick of ticksOf(length / 1000)) {
		const at = left + width * tick.at * 1000 / length, anchor = at > left + width - 20 ? "end" : tick.at ? "middle" : "start";
		add(grid, "line", {class: "rule", x1: at, x2: at, y1: top - 4, y2: y - 5});
		add(grid, "text", {class: "dim tick", x: at, y: 13, "text-anchor": anchor, "data-seconds": tick.at}, tick.text);
	}
	svg.setAttribute("viewBox", "0 0 1000 " + y);
	const line = legend(held.map(h => h.state || "running"));
	const mark = (kind, tag, attributes, text) => {
		if (!svg.querySelector("." + kind)) return;
		add(add(line, "svg", {viewBox: "0 0 12 12"}), tag, {class: kind, ...attributes});
		add(line, "span", {}, text);
	};
	mark("checkpoint", "line", {x1: 6, x2: 6, y1: 0, y2: 12}, "checkpoint");
	mark("preemption", "line", {x1: 6, x2: 6, y1: 0, y2: 12}, "preemption");
	mark("restart", "path", {d: "M3,0 l6,6 l-6,6 z"}, "goes on from a checkpoint");
}

// Draws a table of all attempts of steps that had more than one. Times of the day of the submission have no date. If an attempt went on from a
// checkpoint, a column has its number.
function drawAttempts() {
	if (!(data.attempts || []).length) return;
	const today = data.submit_at.slice(0, 10), when = t => t ? t.slice(t.startsWith(today) ? 11 : 0, 19).replace("T", " ") : "–";
	const saved = data.attempts.some(a => a.from_generation);
	add(page, "h2", {}, "Attempts");
	const table = add(add(page, "div", {class: "wide"}), "table", {id: "attempts"}), head = add(add(table, "thead", {}), "tr", {}), body = add(table, "tbody", {});
	for (const title of ["step", "attempt", "state", "started", "ended", "ran", "exit", "cause", ...(saved ? ["checkpoint"] : []), "nodes"]) add(head, "th", {}, title);
	for (const a of data.attempts) {
		const line = add(body, "tr", {}), exit = a.signal ? "signal " + a.signal : a.exit_code === null ? "–" : a.exit_code;
		for (const cell of [a.label, a.attempt, a.state, when(a.started_at), when(a.ended_at), words(a.elapsed_s, "s"), exit, (a.cause || "–") + preemption(a), ...(saved ? [a.from_generation || "–"] : []), a.nodes])
			add(line, "td", {title: cell}, String(cell));
	}
}

add(page, "h1", {}, data.title);
if (data.report === "job") {
	add(page, "p", {class: "when"}, `${data.user}${data.account ? ", account " + data.account : ""}: ${data.state}; submitted ${data.submit_at.slice(0, 19).replace("T", " ")}`);
	drawGraph();
	drawGantt();
	drawAttempts();
} else if (data.report === "plan") {
	drawPlan();
} else {
	const bar = data.columns.find(c => c.name === data.bar);
	add(page, "p", {class: "when"}, `${data.since.slice(0, 16).replace("T", " ")} to ${data.until.slice(0, 16).replace("T", " ")}; days and months of ${data.time_zone}`);
	add(page, "h2", {}, bar.help);
	if (data.rows.length && data.period) drawLines(bar);
	else if (data.rows.length) drawBars(bar);
}
if (data.rows.length || !data.empty) drawTable();
else add(page, "p", {}, data.empty);
