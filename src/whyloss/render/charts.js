// Draws figures with uPlot: zoom by dragging, numbers under the pointer or by arrow keys. The report and the live page use it.
const charts = (function () {
  "use strict";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const css = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const drawn = new Set(), DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [1, 4]];

  function show(v) {
    if (v == null) return "-";
    if (v === 0) return "0";
    const size = Math.abs(v);
    return size >= 1e5 || size < 1e-3 ? v.toExponential(3).replace(/\.?0+e/, "e") : String(Number(v.toPrecision(4)));
  }

  function axis(extra) {
    return Object.assign({ stroke: () => css("soft"), grid: { stroke: () => css("line"), width: 1 }, ticks: { stroke: () => css("line") },
      font: "12px system-ui, sans-serif" }, extra);
  }

  function ramp(share) {
    const at = share * 8, i = Math.min(7, Math.floor(at)), part = at - i;
    const [a, b] = [css("h" + i), css("h" + (i + 1))].map(c => [1, 3, 5].map(k => parseInt(c.slice(k, k + 2), 16)));
    return "rgb(" + a.map((v, k) => Math.round(v + (b[k] - v) * part)).join(",") + ")";
  }

  const name = (figure, x) => figure.ticks.length ? (figure.ticks[x] === undefined ? "" : figure.ticks[x]) : show(x);
  const short = text => text.length > 16 ? "..." + text.slice(-13) : text;

  function apart(names) {  // what tells the names apart: the parts that all share at their ends are left out
    if (names.length < 2) return names.map(short);
    const parts = names.map(n => n.split("."));
    let front = 0, back = 0;
    const least = Math.min(...parts.map(p => p.length)) - 1;
    while (front < least && parts.every(p => p[front] === parts[0][front])) front++;
    while (front + back < least && parts.every(p => p[p.length - 1 - back] === parts[0][parts[0].length - 1 - back])) back++;
    return parts.map(p => short(p.slice(front, p.length - back).join(".")));
  }

  const joined = figure => figure.curves.length ? uPlot.join(figure.curves.map(curve => [curve.x, curve.y])) : [[]];

  function lines(chart, width) {  // what may change while the page is open is read from chart.figure each time
    const figure = chart.figure, table = joined(figure);
    const colour = i => () => css((figure.ordered ? "s" : "c") + (i + figure.first_colour) % 6);
    const series = [{}].concat(figure.curves.map((curve, i) => ({ label: curve.label, stroke: colour(i), width: 1.8,
      dash: figure.ordered ? undefined : DASHES[i % 6],
      points: { show: u => u.data[0].length < 40 } })));
    const labels = apart(figure.ticks);
    return { table, options: { width, height: 260, series, padding: [12, figure.ticks.length ? 48 : 16, 0, 0], legend: { show: false }, cursor: { y: false, focus: { prox: 30 } },
      scales: { x: { time: false, distr: figure.log_x ? 3 : 1 },
        y: figure.log_y ? { distr: 3, range: (u, lo, hi) => decades(...reach(chart.figure, lo, hi)) }
          : { range: (u, lo, hi) => figure.share ? [0, 1] : roomy(...reach(chart.figure, lo, hi)) } },
      axes: [axis(Object.assign({ label: figure.x_name, labelSize: 20, labelFont: "12px system-ui, sans-serif", space: labels.length ? 30 + 7 * Math.max(...labels.map(l => l.length)) : 60,
        incrs: labels.length ? [1, 2, 5, 10, 20, 50, 100, 200, 500] : undefined,
        values: (u, xs) => xs.map(x => x == null ? "" : labels.length ? labels[x] === undefined ? "" : labels[x] : show(x)) }, figure.log_x ? sparse("x") : {})),
        axis(Object.assign({ size: 64, values: (u, ys) => ys.map(y => y == null ? "" : show(y)) }, figure.log_y ? sparse("y") : {}))],
      hooks: { drawClear: [u => bands(u, chart.figure)], draw: [u => marks(u, chart.figure)] } } };
  }

  function reach(figure, lo, hi) {  // with the guides, and with what pictures beside this one reach to
    const also = figure.guides.map(guide => guide[0]).concat(figure.room || []).concat(lo == null ? [] : [lo], hi == null ? [] : [hi]);
    return also.length ? [Math.min(...also), Math.max(...also)] : [lo, hi];
  }

  function roomy(lo, hi) {  // the noise of a flat curve must look flat
    if (lo == null || hi == null) return [0, 1];
    const least = 0.1 * Math.max(Math.abs(lo), Math.abs(hi)) || 1, more = Math.max(0, least - (hi - lo)) / 2;
    return uPlot.rangeNum(lo - more, hi + more, 0.05, false);
  }

  function decades(lo, hi) {
    if (!(lo > 0) || !(hi > 0)) return [0.1, 1];
    return Math.log10(hi / lo) < 1.5 ? [lo / 1.3, hi * 1.3] : [10 ** Math.floor(Math.log10(lo)), 10 ** Math.ceil(Math.log10(hi))];
  }

  function sparse(scale) {  // over many decades only powers of ten are named and ruled
    const kept = (u, ys) => {
      const span = Math.log10(u.scales[scale].max / u.scales[scale].min), every = Math.max(1, Math.ceil(span / 6));
      const round = (y, digits) => digits.includes(y.toExponential(6).replace(/\.?0*e.*/, ""));
      const some = ys.map(y => round(y, "1") && Math.round(Math.log10(y)) % every === 0 || span < 2 && round(y, span < 1 ? ["1", "2", "3", "5"] : ["2", "5"]) ? y : null);
      if (span >= 1 || some.filter(y => y != null).length > 1) return some;
      return ys.map(y => round(y, ["1", "2", "3", "4", "5", "6", "7", "8", "9"]) ? y : null);
    };
    return { filter: kept, grid: { stroke: () => css("line"), width: 1, filter: kept }, ticks: { stroke: () => css("line"), filter: kept } };
  }

  function bands(u, figure) {
    u.ctx.save();
    u.ctx.textAlign = "left"; u.ctx.textBaseline = "alphabetic";
    figure.bands.forEach((band, i) => {
      const [left, right] = [band[0], band[1]].map(x => Math.min(u.bbox.left + u.bbox.width, Math.max(u.bbox.left, u.valToPos(x, "x", true))));
      if (i % 2 === 0) { u.ctx.fillStyle = css("panel"); u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height); }
      u.ctx.fillStyle = css("soft"); u.ctx.font = 11 * devicePixelRatio + "px system-ui";
      if (right - left > u.ctx.measureText(band[2]).width) u.ctx.fillText(band[2], left + 4, u.bbox.top + u.bbox.height - 6);
    });
    u.ctx.restore();
  }

  function marks(u, figure) {
    const c = u.ctx;
    c.save();
    c.textAlign = "left"; c.textBaseline = "alphabetic";
    c.lineWidth = devicePixelRatio; c.font = 11 * devicePixelRatio + "px system-ui"; c.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const [value, text] of figure.guides) {
      const y = u.valToPos(value, "y", true);
      c.strokeStyle = c.fillStyle = css("ink");
      c.beginPath(); c.moveTo(u.bbox.left, y); c.lineTo(u.bbox.left + u.bbox.width, y); c.stroke();
      c.fillText(text, u.bbox.left + 6, y - 5);
    }
    for (const [at] of figure.events) {
      const x = u.valToPos(at, "x", true);
      if (x < u.bbox.left || x > u.bbox.left + u.bbox.width) continue;
      c.strokeStyle = css("undetermined");
      c.beginPath(); c.moveTo(x, u.bbox.top); c.lineTo(x, u.bbox.top + u.bbox.height); c.stroke();
    }
    c.restore();
  }

  const places = figure => [figure.heat.columns.map((_, i) => i), figure.heat.columns.map(() => null)];

  function heat(chart, width) {
    const { rows } = chart.figure.heat;
    const paint = u => {
      const { rows, columns, cells, low, high, log } = chart.figure.heat;
      const size = v => log ? Math.log(v) : v;
      const share = v => high <= low ? 0.5 : log && v <= 0 ? 0 : (size(v) - size(low)) / (size(high) - size(low));
      const colours = Array.from({ length: 65 }, (_, i) => ramp(i / 64)), bad = css("fault");
      u.ctx.save();
      u.ctx.beginPath(); u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height); u.ctx.clip();
      const xs = columns.concat(0).map((_, i) => u.valToPos(i - 0.5, "x", true));
      const ys = rows.concat(0).map((_, i) => u.valToPos(i - 0.5, "y", true));
      cells.forEach((row, r) => row.forEach((v, i) => {
        if (v === "?") return;
        u.ctx.fillStyle = v === null ? bad : colours[Math.max(0, Math.min(64, Math.round(64 * share(v))))];
        u.ctx.fillRect(xs[i], ys[r], xs[i + 1] - xs[i] + 0.5, ys[r + 1] - ys[r] + 0.5);
      }));
      u.ctx.restore();
    };
    const labels = apart(rows), whole = [1, 2, 5, 10, 20, 50, 100, 200, 500];
    const last = () => chart.figure.heat.columns.length - 1;
    return { table: places(chart.figure), options: { width, height: Math.max(220, Math.min(520, 40 + rows.length * 16)),
      series: [{}, { paths: () => null, points: { show: false } }], legend: { show: false }, cursor: { drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false, range: (u, lo, hi) => [lo == null || hi - lo >= last() ? -0.5 : lo, hi == null || hi - lo >= last() ? last() + 0.5 : hi] },
        y: { dir: -1, range: () => [-0.5, rows.length - 0.5] } },
      axes: [axis({ label: chart.figure.x_name, labelSize: 20, labelFont: "12px system-ui, sans-serif", grid: { show: false }, incrs: whole, values: (u, xs) => xs.map(x => chart.figure.heat.columns[x] === undefined ? "" : String(chart.figure.heat.columns[x])) }),
        axis({ size: 110, space: 16, grid: { show: false }, incrs: whole, values: (u, ys) => ys.map(y => labels[y] === undefined ? "" : labels[y]) })],
      hooks: { draw: [paint] } } };
  }

  function said(figure, u) {
    if (figure.heat) {
      const { rows, columns, cells } = figure.heat, column = u.cursor.idx, row = figure.row;
      if (column == null || row == null || !cells[row]) return "";
      const v = cells[row][column];
      return rows[row] + ", step " + columns[column] + ": " + (v === "?" ? "not seen" : v === null ? "not finite" : show(v));
    }
    const i = u.cursor.idx;
    if (i == null) return "";
    const x = u.data[0][i], head = figure.ticks.length ? name(figure, x) : figure.x_name + " " + show(x);
    const near = figure.events.filter(e => Math.abs(u.valToPos(e[0], "x") - u.cursor.left) < 4).map(e => " [" + e[1] + "]").join("");
    return head + near + ": " + figure.curves.map((c, k) => [c.label, u.data[k + 1][i]]).filter(p => p[1] != null)
      .map(p => (figure.curves.length > 1 ? p[0] + " " : "") + show(p[1])).join(", ");
  }

  function keys(figure, u, event) {
    const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!step || !figure.heat && step[1]) return;
    event.preventDefault();
    const last = u.data[0].length - 1, at = u.cursor.idx == null ? (step[0] < 0 ? last : 0) : Math.max(0, Math.min(last, u.cursor.idx + step[0]));
    let top = 10;
    if (figure.heat) {
      figure.row = Math.max(0, Math.min(figure.heat.rows.length - 1, (figure.row == null ? -step[1] : figure.row) + step[1]));
      top = u.valToPos(figure.row, "y");
    }
    u.setCursor({ left: u.valToPos(u.data[0][at], "x"), top });
  }

  function key(colour, dash) {  // a piece of a curve, as it is drawn
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg"), line = document.createElementNS("http://www.w3.org/2000/svg", "line");
    svg.setAttribute("class", "key l" + colour % 6); svg.setAttribute("viewBox", "0 0 28 8"); svg.setAttribute("aria-hidden", "true");
    for (const [at, value] of [["x1", 0], ["x2", 28], ["y1", 4], ["y2", 4], ["stroke-dasharray", DASHES[dash % 6].join(" ")]]) if (value !== "") line.setAttribute(at, value);
    svg.append(line);
    return svg;
  }

  function legend(figure) {
    const list = document.createElement("ul");
    list.className = "legend";
    if (figure.heat || figure.curves.length < 2) return list;
    figure.curves.forEach((curve, i) => {
      const item = document.createElement("li");
      if (figure.ordered) item.className = "t" + (i + figure.first_colour) % 6;
      item.append(...(figure.ordered ? [] : [key(i + figure.first_colour, i)]), document.createTextNode(curve.label));
      list.append(item);
    });
    return list;
  }

  function build(chart) {
    const { box, live, out } = chart;
    const { table, options } = chart.figure.heat ? heat(chart, live.clientWidth) : lines(chart, live.clientWidth);
    options.hooks.setCursor = [u => {
      const figure = chart.figure;
      if (figure.heat && u.cursor.top >= 0) figure.row = Math.round(u.posToVal(u.cursor.top, "y"));
      out.textContent = u.cursor.left < 0 ? "" : said(figure, u);
    }];
    chart.u = new uPlot(options, table, chart.place);
    chart.names = legend(chart.figure);
    if (chart.names.children.length) live.append(chart.names);
    box.classList.add("drawn");
  }

  const shape = figure => figure.heat ? "heat " + figure.heat.rows.join() : [figure.log_x, figure.log_y, figure.ticks.join()].concat(figure.curves.map(c => c.label)).join();

  function update(chart, figure) {  // other numbers in the same picture: a stretch that was zoomed into stays
    const before = chart.figure, u = chart.u, had = u.data[0], { min, max } = u.scales.x;
    const zoomed = had.length > 1 && min != null && (min > had[0] + 1e-9 || max < had[had.length - 1] - 1e-9);
    const counted = figure.curves.length === before.curves.length && !figure.heat === !before.heat && figure.log_y === before.log_y;
    if (!counted || shape(figure) !== shape(before) && !figure.ordered || figure.ticks.length !== before.ticks.length) {
      u.destroy();
      chart.names.remove();
      chart.figure = figure;
      build(chart);
      return;
    }
    figure.row = before.row;
    chart.figure = figure;
    const table = figure.heat ? places(figure) : joined(figure);
    u.batch(() => {
      u.setData(table, !zoomed);
      if (zoomed) u.setScale("x", { min, max });
    });
    if (!zoomed && figure.heat) u.redraw();
    const names = legend(figure);
    if (names.children.length) { chart.names.replaceWith(names); chart.names = names; }
    if (u.cursor.left >= 0 && chart.place.matches(":hover, :focus")) chart.out.textContent = said(figure, u);  // else it would be read out with each change
  }

  function draw(box, figure) {  // -> a chart: update(figure) with other numbers, redraw(), remove()
    const live = box.querySelector(".live"), still = box.querySelector("svg[aria-label]"), place = document.createElement("div");
    live.hidden = false;
    place.className = "plot"; place.tabIndex = 0; place.setAttribute("role", "img");
    place.setAttribute("aria-label", (still ? still.getAttribute("aria-label") : box.dataset.label) + " Arrow keys read the numbers.");
    live.append(place);
    const chart = { box, live, place, figure, out: box.querySelector(".readout") };
    build(chart);
    place.addEventListener("keydown", event => keys(chart.figure, chart.u, event));
    drawn.add(chart);
    const sizes = new ResizeObserver(() => { if (live.clientWidth && live.clientWidth !== chart.u.width) chart.u.setSize({ width: live.clientWidth, height: chart.u.height }); });
    sizes.observe(live);
    chart.update = next => update(chart, next);
    chart.redraw = () => chart.u.redraw(true, true);
    chart.remove = () => { sizes.disconnect(); drawn.delete(chart); chart.u.destroy(); };
    return chart;
  }

  dark.addEventListener("change", () => drawn.forEach(chart => chart.u.redraw(false)));
  document.documentElement.classList.add("scripted");
  return { draw, show, key };
})();
