// page_check.js - a test appends it to a page of `rota report` or `rota plan`. It measures what was drawn and lists errors in #check.
"use strict";
{
	const wrong = [], all = (root, what) => root ? [...root.querySelectorAll(what)] : [];
	const inside = (inner, outer, slack) => inner.x >= outer.x - slack && inner.y >= outer.y - slack &&
		inner.x + inner.width <= outer.x + outer.width + slack && inner.y + inner.height <= outer.y + outer.height + slack;
	const graph = document.querySelector("#graph"), gantt = document.querySelector("#gantt, #plan");
	const left = gantt && gantt.id === "plan" ? 200 : 110, right = gantt && gantt.id === "plan" ? 800 : 990;
	const said = node => (node.firstChild || node.parentNode.firstChild).textContent;

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
		if (x < left || x > right) wrong.push(`tick "${said(tick)}" is not within the axis`);
		if (before && !(Number(before.getAttribute("x")) < x && Number(before.dataset.seconds) < Number(tick.dataset.seconds))) wrong.push(`tick "${said(tick)}" is not behind "${said(before)}"`);
		if (before && before.getBBox().x + before.getBBox().width > tick.getBBox().x) wrong.push(`tick "${said(tick)}" lies on "${said(before)}"`);
	});
	for (const box of all(gantt, "rect[data-step], rect[data-from]")) {
		const b = box.getBBox();
		if (!(b.x >= left - 0.1 && b.x + b.width <= right + 0.1 && b.width >= 1)) wrong.push(`"${box.dataset.step || said(box)}" is not within the axis`);
	}
	// Each mark lies in the box of an attempt of its step.
	const marks = Object.fromEntries(["checkpoint", "preemption", "restart"].map(kind => [kind, all(gantt, "." + kind)]));
	for (const kind in marks)
		for (const mark of marks[kind]) {
			const m = mark.getBBox();
			if (!all(gantt, "rect[data-step]").some(box => inside({x: m.x, y: m.y, width: kind === "restart" ? 0 : m.width, height: m.height}, box.getBBox(), 1.5) && said(mark).startsWith(box.dataset.step + ",")))
				wrong.push(`the mark "${said(mark)}" is in no box`);
		}
	// Bars of a plan begin and end where the axis has their times, unless they are cut at its end.
	const last = ticks[ticks.length - 1], scale = last && (Number(last.getAttribute("x")) - left) / Number(last.dataset.seconds);
	for (const box of all(gantt, "rect[data-from]")) {
		const b = box.getBBox(), from = left + scale * Number(box.dataset.from), to = box.dataset.to === "" ? Infinity : left + scale * Number(box.dataset.to);
		if (Math.abs(b.x - from) > 2.1 || Math.abs(b.x + b.width - Math.min(to, right)) > 2.1) wrong.push(`the bar of "${said(box)}" is not at its times`);
	}
	// Texts of a line do not lie on each other or on a bar.
	const texts = all(gantt && gantt.id === "plan" ? gantt : null, "text:not(.tick), rect");
	for (const [i, a] of texts.entries())
		for (const b of texts.slice(i + 1)) {
			const p = a.getBBox(), q = b.getBBox();
			if (p.x < q.x + q.width - 1 && q.x < p.x + p.width - 1 && p.y < q.y + q.height - 4 && q.y < p.y + p.height - 4) wrong.push(`"${said(a)}" lies on "${said(b)}"`);
		}
	// The table of a job fits the window, and no column of it is empty.
	for (const table of all(document, "#numbers"))
		if (table.getBoundingClientRect().right > 1280) wrong.push(`the table is ${Math.round(table.getBoundingClientRect().right)} wide`);
	all(document, "#numbers thead th").forEach((th, i) => {
		const values = all(document, `#numbers tbody td:nth-child(${i + 1})`).map(td => td.dataset.value);
		if (values.every(v => v === "" || v === "0")) wrong.push(`column "${said(th)}" says nothing`);
	});
	const count = bars => bars.reduce((sums, bar) => ({...sums, [bar.getAttribute("class")]: (sums[bar.getAttribute("class")] || 0) + 1}), {});
	const check = document.createElement("pre");
	check.id = "check";
	check.textContent = JSON.stringify({wrong, columns: Object.fromEntries(boxes.map(b => [b.dataset.step, b.x.baseVal.value])), ticks: ticks.map(said),
		fits: all(document, "#attempts").every(table => table.scrollWidth <= table.parentElement.clientWidth),
		marks: Object.fromEntries(Object.entries(marks).map(([kind, nodes]) => [kind, nodes.map(said)])),
		bars: count(all(gantt, "#plan rect")), arrows: all(gantt, "#plan path").length, never: all(gantt, "text.never").length});
	document.body.appendChild(check);
}
