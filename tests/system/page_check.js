// page_check.js - a test appends it to a page of `rota report`. It measures what was drawn and lists errors in #check.
"use strict";
{
	const wrong = [], all = (root, what) => root ? [...root.querySelectorAll(what)] : [];
	const inside = (inner, outer, slack) => inner.x >= outer.x - slack && inner.y >= outer.y - slack &&
		inner.x + inner.width <= outer.x + outer.width + slack && inner.y + inner.height <= outer.y + outer.height + slack;
	const graph = document.querySelector("#graph"), gantt = document.querySelector("#gantt");
	const said = node => node.firstChild.textContent;

	for (const svg of all(document, "svg.chart")) {
		const [, , width, height] = svg.getAttribute("viewBox").split(" ").map(Number);
		for (const node of all(svg, "text, rect, path, line.checkpoint, line.preemption"))
			if (!inside(node.getBBox(), {x: 0, y: 0, width, height}, 1)) wrong.push(`${svg.id}: ${node.tagName} "${said(node)}" is outside`);
	}
	// A text within a box is drawn after it.
	for (const text of all(document, "#graph text, #gantt text.within"))
		if (!inside(text.getBBox(), text.previousElementSibling.getBBox(), 1)) wrong.push(`"${said(text)}" is wider than its box`);
	const boxes = all(graph, "rect");
	for (const a of boxes)
		for (const b of boxes)
			if (a !== b && a.x.baseVal.value === b.x.baseVal.value && Math.abs(a.y.baseVal.value - b.y.baseVal.value) < 32) wrong.push(`"${a.dataset.step}" lies on "${b.dataset.step}"`);
	for (const path of all(graph, "path.edge")) {
		for (let at = 0, length = path.getTotalLength(); at <= length; at += 2) {
			const p = path.getPointAtLength(at);
			const hit = boxes.find(box => { const b = box.getBBox(); return p.x > b.x + 1 && p.x < b.x + b.width - 1 && p.y > b.y + 1 && p.y < b.y + b.height - 1; });
			if (hit) {
				wrong.push(`the line from ${path.dataset.from} to ${path.dataset.to} goes through ${hit.dataset.step}`);
				break;
			}
		}
	}
	const ticks = all(gantt, "text.tick");
	if (gantt && (ticks.length < 2 || ticks.length > 9)) wrong.push(`${ticks.length} ticks`);
	ticks.forEach((tick, i) => {
		const x = Number(tick.getAttribute("x")), before = i ? ticks[i - 1] : null;
		if (x < 110 || x > 990) wrong.push(`tick "${said(tick)}" is not within the axis`);
		if (before && !(Number(before.getAttribute("x")) < x && Number(before.dataset.seconds) < Number(tick.dataset.seconds))) wrong.push(`tick "${said(tick)}" is not behind "${said(before)}"`);
		if (before && before.getBBox().x + before.getBBox().width > tick.getBBox().x) wrong.push(`tick "${said(tick)}" lies on "${said(before)}"`);
	});
	for (const box of all(gantt, "rect[data-step]")) {
		const b = box.getBBox();
		if (!(b.x >= 109.9 && b.x + b.width <= 990.1 && b.width >= 1)) wrong.push(`"${box.dataset.step}" is not within the axis`);
	}
	// Each mark lies in the box of an attempt of its step.
	const marks = Object.fromEntries(["checkpoint", "preemption", "restart"].map(kind => [kind, all(gantt, "." + kind)]));
	for (const kind in marks)
		for (const mark of marks[kind]) {
			const m = mark.getBBox();
			if (!all(gantt, "rect[data-step]").some(box => inside({x: m.x, y: m.y, width: kind === "restart" ? 0 : m.width, height: m.height}, box.getBBox(), 1.5) && said(mark).startsWith(box.dataset.step + ",")))
				wrong.push(`the mark "${said(mark)}" is in no box`);
		}
	// The table of a job fits the window, and no column of it is empty.
	for (const table of all(document, "#numbers"))
		if (table.getBoundingClientRect().right > 1280) wrong.push(`the table is ${Math.round(table.getBoundingClientRect().right)} wide`);
	all(document, "#numbers thead th").forEach((th, i) => {
		const values = all(document, `#numbers tbody td:nth-child(${i + 1})`).map(td => td.dataset.value);
		if (values.every(v => v === "" || v === "0")) wrong.push(`column "${said(th)}" says nothing`);
	});
	const check = document.createElement("pre");
	check.id = "check";
	check.textContent = JSON.stringify({wrong, columns: Object.fromEntries(boxes.map(b => [b.dataset.step, b.x.baseVal.value])), ticks: ticks.map(said),
		fits: all(document, "#attempts").every(table => table.scrollWidth <= table.parentElement.clientWidth),
		marks: Object.fromEntries(Object.entries(marks).map(([kind, nodes]) => [kind, nodes.map(said)]))});
	document.body.appendChild(check);
}
