// Draws each figure of the page with uPlot in place of its still drawing: zoom by dragging, numbers under the pointer or by arrow keys.
(function () {
  "use strict";
  const data = JSON.parse(document.getElementById("figures").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const css = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const drawn = [];

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

  function lines(figure, width) {
    const colour = i => () => css((figure.ordered ? "s" : "c") + (i + figure.first_colour) % 6);
    const table = uPlot.join(figure.curves.map(curve => [curve.x, curve.y]));
    const series = [{}].concat(figure.curves.map((curve, i) => ({ label: curve.label, stroke: colour(i), width: 1.8,
      dash: figure.ordered ? undefined : [[], [7, 3], [2, 3], [9, 3, 2, 3], [4, 4], [1, 4]][i % 6],
      points: { show: table[0].length < 40 } })));
    const guides = figure.guides.map(guide => guide[0]), labels = apart(figure.ticks);
    return { table, options: { width, height: 260, series, padding: [12, figure.ticks.length ? 48 : 16, 0, 0], legend: { show: false }, cursor: { y: false, focus: { prox: 30 } },
      scales: { x: { time: false, distr: figure.log_x ? 3 : 1 },
        y: figure.log_y ? { distr: 3, range: (u, lo, hi) => decades(Math.min(lo, ...guides), Math.max(hi, ...guides)) }
          : { range: (u, lo, hi) => figure.share ? [0, 1] : roomy(lo, hi) } },
      axes: [axis(Object.assign({ label: figure.x_name, labelSize: 20, labelFont: "12px system-ui, sans-serif", space: labels.length ? 30 + 7 * Math.max(...labels.map(l => l.length)) : 60,
        incrs: labels.length ? [1, 2, 5, 10, 20, 50, 100, 200, 500] : undefined,
        values: (u, xs) => xs.map(x => x == null ? "" : labels.length ? labels[x] === undefined ? "" : labels[x] : show(x)) }, figure.log_x ? sparse("x") : {})),
        axis(Object.assign({ size: 64, values: (u, ys) => ys.map(y => y == null ? "" : show(y)) }, figure.log_y ? sparse("y") : {}))],
      hooks: { drawClear: [u => bands(u, figure)], draw: [u => marks(u, figure)] } } };
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
      return ys.map(y => {
        const at = Math.log10(y), whole = Math.abs(at - Math.round(at)) < 1e-6;
        return span < 1 || whole && Math.round(at) % every === 0 || span < 2 && /^[25]/.test(y.toExponential()) ? y : null;
      });
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

  function heat(figure, width) {
    const { rows, columns, cells, low, high, log } = figure.heat;
    const size = v => log ? Math.log(v) : v;
    const share = v => high <= low ? 0.5 : log && v <= 0 ? 0 : (size(v) - size(low)) / (size(high) - size(low));
    const paint = u => {
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
    return { table: [columns.map((_, i) => i), columns.map(() => null)], options: { width, height: Math.max(220, Math.min(520, 40 + rows.length * 16)),
      series: [{}, { paths: () => null, points: { show: false } }], legend: { show: false }, cursor: { drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false, range: (u, lo, hi) => [lo == null || hi - lo >= columns.length - 1 ? -0.5 : lo, hi == null || hi - lo >= columns.length - 1 ? columns.length - 0.5 : hi] },
        y: { dir: -1, range: () => [-0.5, rows.length - 0.5] } },
      axes: [axis({ label: figure.x_name, labelSize: 20, labelFont: "12px system-ui, sans-serif", grid: { show: false }, incrs: whole, values: (u, xs) => xs.map(x => columns[x] === undefined ? "" : String(columns[x])) }),
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

  function legend(figure) {
    const list = document.createElement("ul");
    list.className = "legend";
    if (figure.heat || figure.curves.length < 2) return list;
    figure.curves.forEach((curve, i) => {
      const item = document.createElement("li");
      item.className = (figure.ordered ? "t" : "l") + (i + figure.first_colour) % 6;
      item.textContent = curve.label;
      list.append(item);
    });
    return list;
  }

  function draw(figure) {
    const box = document.getElementById(figure.name), live = box.querySelector(".live"), out = box.querySelector(".readout");
    live.hidden = false;
    const { table, options } = figure.heat ? heat(figure, live.clientWidth) : lines(figure, live.clientWidth);
    options.hooks.setCursor = [u => {
      if (figure.heat && u.cursor.top >= 0) figure.row = Math.round(u.posToVal(u.cursor.top, "y"));
      out.textContent = u.cursor.left < 0 ? "" : said(figure, u);
    }];
    const place = document.createElement("div");
    place.className = "plot"; place.tabIndex = 0; place.setAttribute("role", "img");
    place.setAttribute("aria-label", box.querySelector("svg").getAttribute("aria-label") + " Arrow keys read the numbers.");
    live.append(place);
    const u = new uPlot(options, table, place);
    const names = legend(figure);
    if (names.children.length) live.append(names);
    place.addEventListener("keydown", event => keys(figure, u, event));
    box.classList.add("drawn");
    drawn.push(u);
    new ResizeObserver(() => { if (live.clientWidth && live.clientWidth !== u.width) u.setSize({ width: live.clientWidth, height: u.height }); }).observe(live);
  }

  data.forEach(figure => { try { draw(figure); } catch (error) { document.getElementById(figure.name).classList.remove("drawn"); console.error(error); } });
  dark.addEventListener("change", () => drawn.forEach(u => u.redraw(false)));
  document.documentElement.classList.add("scripted");
})();
