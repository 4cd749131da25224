// page.js - draws a report from its numbers (#data, the answer of GET /v1/report): charts first, then the table they come from.
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

// A number in the unit of its column, for people.
function words(value, unit) {
	if (value === null || value === undefined) return "–";
	if (unit === "s") {
		const s = Math.round(value), h = Math.floor(s / 3600);
		return h + ":" + two(Math.floor(s / 60) % 60) + ":" + two(s % 60);
	}
	if (unit === "percent") return value.toFixed(1) + " %";
	if (unit === "time") return data.period === "hour" ? value.slice(0, 16).replace("T", " ") : value.slice(0, 10);
	return typeof value === "number" ? value.toLocaleString("en", {maximumFractionDigits: 2}) : String(value);
}

function isText(column) {
	return column.unit === "text" || column.unit === "time";
}

function drawTable() {
	add(page, "h2", {}, "Numbers");
	const table = add(add(page, "div", {class: "wide"}), "table", {id: "numbers"});
	const head = add(add(table, "thead", {}), "tr", {});
	for (const c of data.columns) add(head, "th", {class: isText(c) ? "" : "number", title: c.help}, c.title.toLowerCase());
	const body = add(table, "tbody", {});
	for (const row of data.rows) {
		const line = add(body, "tr", {});
		for (const c of data.columns)
			add(line, "td", {class: isText(c) ? "" : "number", "data-name": c.name, "data-value": row[c.name] === null ? "" : row[c.name]}, words(row[c.name], c.unit));
	}
}

// What a row is about, its period aside.
function label(row) {
	return data.by.map(b => row[b] || "(none)").join(" / ") || "all";
}

// Over time: a line for each of the largest, the others added up where that means something.
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
	const ink = getComputedStyle(document.body).color;
	const axis = {stroke: ink, grid: {stroke: "#8884"}, ticks: {stroke: "#8884"}};
	const seconds = times.map(t => Date.parse(t.length === 10 ? t + "T00:00:00Z" : t) / 1000);
	new uPlot({width: Math.min(holder.clientWidth || 1000, 1040), height: 360, tzDate: ts => uPlot.tzDate(new Date(ts * 1e3), "UTC"),
		axes: [axis, {...axis, label: bar.title.toLowerCase() + (bar.unit === "percent" ? " (%)" : " (" + bar.unit + ")"), size: 70}],
		series: [{}, ...shown.map((name, i) => ({label: name, stroke: COLOURS[i % COLOURS.length], width: 2, points: {show: times.length < 50}}))],
	}, [seconds, ...series], holder);
}

function drawBars(bar) {
	const rows = data.rows.slice(0, 40), most = Math.max(...rows.map(r => r[bar.name] || 0), 1e-9), line = 24, left = 190;
	const svg = add(page, "svg", {id: "chart", class: "chart", viewBox: "0 0 1000 " + (rows.length * line + 8), role: "img"});
	rows.forEach((row, i) => {
		add(svg, "text", {x: left - 8, y: i * line + 17, "text-anchor": "end"}, label(row));
		const box = add(svg, "rect", {class: "bar", x: left, y: i * line + 4, height: line - 7, rx: 2, width: Math.max(1, 700 * (row[bar.name] || 0) / most), "data-value": row[bar.name] || 0});
		add(box, "title", {}, label(row) + ": " + words(row[bar.name], bar.unit));
		add(svg, "text", {class: "dim", x: left + 8 + 700 * (row[bar.name] || 0) / most, y: i * line + 17}, words(row[bar.name], bar.unit));
	});
	if (data.rows.length > rows.length) add(page, "p", {class: "when"}, "The first " + rows.length + " of " + data.rows.length + " rows.");
}

// The steps of a job, each to the right of what it waits for.
function drawGraph() {
	const depth = new Map(), rows = [];
	for (const r of data.requests) {
		const before = data.edges.filter(e => e.to === r.name && e.kind === "after" && depth.has(e.from)).map(e => depth.get(e.from) + 1);
		depth.set(r.name, Math.max(0, ...before));
	}
	const at = new Map(), wide = 150, gap = 60;
	for (const r of data.requests) {
		const d = depth.get(r.name);
		rows[d] = (rows[d] || 0) + 1;
		at.set(r.name, {x: d * (wide + gap) + 4, y: (rows[d] - 1) * 46 + 4});
	}
	const width = Math.max(1000, rows.length * (wide + gap)), height = Math.max(...rows.map(n => n || 0)) * 46 + 4;
	add(page, "h2", {}, "Steps and what they wait for");
	const svg = add(page, "svg", {id: "graph", class: "chart", viewBox: "0 0 " + width + " " + height, role: "img"});
	for (const e of data.edges) {
		const from = at.get(e.from), to = at.get(e.to);
		if (!from || !to) continue;
		const path = add(svg, "path", {class: "edge", d: `M${from.x + wide},${from.y + 16} C${from.x + wide + 30},${from.y + 16} ${to.x - 30},${to.y + 16} ${to.x},${to.y + 16}`});
		add(path, "title", {}, e.to + " " + e.kind + " " + e.from + " (" + e.condition + "): " + e.state);
	}
	for (const r of data.requests) {
		const p = at.get(r.name), n = data.rows.filter(s => s.request_id === r.step_id && s.array_index !== null).length;
		add(add(svg, "rect", {class: r.state, x: p.x, y: p.y, width: wide, height: 32, rx: 5, opacity: 0.85, "data-step": r.name}), "title", {}, r.name + ": " + r.state);
		add(svg, "text", {x: p.x + 10, y: p.y + 20, style: "fill: #fff"}, r.name + (n ? " [" + n + "]" : ""));
	}
}

// Who ran where and when: nodes downwards, time to the right; what ran side by side on a node lies in lanes.
function drawGantt() {
	if (!data.held.length) return;
	const end = h => Date.parse(h.ended_at || data.now), begin = Date.parse(data.submit_at);
	const last = Math.max(...data.held.map(end)), length = Math.max(last - begin, 1), left = 110, width = 880;
	const names = new Map(data.rows.map(r => [r.step_id, r.label])), nodes = [...new Set(data.held.map(h => h.node))].sort();
	let y = 20;
	add(page, "h2", {}, "Where and when they ran");
	const svg = add(page, "svg", {id: "gantt", class: "chart", role: "img"});
	const x = t => left + width * (t - begin) / length;
	for (const node of nodes) {
		const lanes = [], first = y;
		for (const h of data.held.filter(one => one.node === node)) {
			const from = Date.parse(h.started_at);
			let lane = lanes.findIndex(free => free <= from);
			if (lane < 0) lane = lanes.length;
			lanes[lane] = end(h);
			const box = add(svg, "rect", {class: h.state || "running", x: x(from), y: first + lane * 18, height: 15, rx: 2, width: Math.max(1.5, x(end(h)) - x(from)), "data-step": names.get(h.step_id)});
			add(box, "title", {}, names.get(h.step_id) + ", attempt " + h.attempt + ", " + h.cpus + " CPUs, " + words((end(h) - from) / 1000, "s") + ": " + (h.state || "running"));
			if (x(end(h)) - x(from) > 60) add(svg, "text", {x: x(from) + 5, y: first + lane * 18 + 12, style: "fill: #fff"}, names.get(h.step_id));
		}
		add(svg, "text", {x: left - 10, y: first + 12, "text-anchor": "end"}, node);
		y = first + lanes.length * 18 + 8;
		add(svg, "line", {class: "rule", x1: left, x2: left + width, y1: y - 5, y2: y - 5});
	}
	for (let i = 0; i <= 4; i++)
		add(svg, "text", {class: "dim", x: left + width * i / 4, y: 13, "text-anchor": i === 4 ? "end" : "start"}, words(length * i / 4000, "s"));
	svg.setAttribute("viewBox", "0 0 1000 " + y);
}

add(page, "h1", {}, data.title);
if (data.report === "job") {
	add(page, "p", {class: "when"}, `${data.user}${data.account ? ", account " + data.account : ""}: ${data.state}; submitted ${data.submit_at.slice(0, 19).replace("T", " ")}`);
	drawGraph();
	drawGantt();
} else {
	const bar = data.columns.find(c => c.name === data.bar);
	add(page, "p", {class: "when"}, `${data.since.slice(0, 16).replace("T", " ")} to ${data.until.slice(0, 16).replace("T", " ")}; days and months of ${data.time_zone}`);
	add(page, "h2", {}, bar.help);
	if (data.rows.length && data.period) drawLines(bar);
	else if (data.rows.length) drawBars(bar);
}
drawTable();
