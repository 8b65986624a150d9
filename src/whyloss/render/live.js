// The live page: one stream of events says which runs changed; the pictures of those that are looked at are asked for then.
(function () {
  "use strict";
  const MOST = 6, GAP = 800, LISTED = 200;  // runs side by side; milliseconds between two looks at one; alerts on the page
  const SYMBOL = { running: "●", finished: "✓", stopped: "✗", silent: "?", broken: "✗", waiting: "○" };
  const COLOUR = { running: "healthy", finished: "soft", stopped: "fault", silent: "undetermined", broken: "fault", waiting: "soft" };
  const at = id => document.getElementById(id);
  const rows = new Map(), columns = new Map();
  const names = new Intl.Collator(undefined, { numeric: true });
  const order = (a, b) => (b.began || 0) - (a.began || 0) || names.compare(a.name, b.name);  // the newest first, and no row moves
  let chosen = (location.hash.match(/^#runs=([\w,]+)$/) || ["", ""])[1].split(",").filter(Boolean).slice(0, MOST);
  let picked = chosen.length > 0, paused = false, stream = null, ahead = 0, overlay = null, first = true;

  function make(tag, words, cls) {
    const made = document.createElement(tag);
    if (words != null) made.textContent = words;
    if (cls) made.className = cls;
    return made;
  }

  function say(node, words) { if (node.textContent !== words) node.textContent = words; }

  // ---------------------------------------------------------------- the table of runs
  function ago(wrote) {
    if (!wrote) return "";
    const seconds = Math.max(0, Date.now() / 1000 + ahead - wrote);
    return seconds < 120 ? Math.round(seconds) + " s ago" : seconds < 7200 ? Math.round(seconds / 60) + " min ago" : seconds < 172800
      ? Math.round(seconds / 3600) + " h ago" : Math.round(seconds / 86400) + " d ago";
  }

  function line(row) {
    const tr = make("tr"), head = make("th"), label = make("label"), box = make("input"), name = make("span");
    head.scope = "row";
    box.type = "checkbox";
    box.addEventListener("change", () => choose(row.id, box.checked));
    label.append(box, name);
    head.append(label);
    tr.append(head, make("td", null, "words"), make("td", null, "soft age"), make("td", null, "n"), make("td", null, "n"), make("td", null, "n"), make("td", null, "curve"));
    return { tr, box, name, cells: Array.from(tr.children).slice(1), row };
  }

  function fill(entry) {
    const row = entry.row, [state, age, step, loss, alerts, curve] = entry.cells;
    say(entry.name, row.name + (row.ranks > 1 ? " (" + row.ranks + " ranks)" : ""));
    state.replaceChildren(make("span", SYMBOL[row.kind] + " " + row.words, COLOUR[row.kind]));
    say(age, ago(row.wrote));
    say(step, row.step == null ? "" : String(row.step));
    say(loss, row.first ? row.first + " → " + row.last : "");
    loss.className = /[NI]/i.test(row.last) ? "n fault" : "n";  // NaN, infinite
    alerts.replaceChildren(row.alerts ? make("span", "⚠ " + row.alerts, "fault") : make("span", row.step == null ? "" : "0", "soft"));
    curve.replaceChildren();
    if (row.spark.length) {
      const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      svg.setAttribute("viewBox", "0 0 90 22"); svg.setAttribute("class", "spark"); svg.setAttribute("aria-hidden", "true");
      for (const points of row.spark) {
        const drawn = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
        drawn.setAttribute("class", "c2"); drawn.setAttribute("points", points);
        svg.append(drawn);
      }
      curve.append(svg);
    }
  }

  function put(row) {
    let entry = rows.get(row.id);
    if (!entry) {
      entry = line(row);
      rows.set(row.id, entry);
      const after = Array.from(rows.values()).filter(other => other !== entry && order(other.row, row) > 0).sort((a, b) => order(a.row, b.row))[0];
      at("runs").insertBefore(entry.tr, after ? after.tr : null);
    }
    entry.row = row;
    fill(entry);
  }

  function headline() {
    const kinds = new Map();
    for (const { row } of rows.values()) kinds.set(row.kind, (kinds.get(row.kind) || 0) + 1);
    const words = { running: "running", stopped: "stopped writing", silent: "silent", broken: "cannot be read", finished: "finished", waiting: "not begun" };
    const parts = Object.keys(words).filter(kind => kinds.get(kind)).map(kind => (rows.size > 1 ? kinds.get(kind) + " " : "") + words[kind]);
    const said = rows.size === 0 ? "waits for a run" : rows.size === 1 ? "follows 1 run: " + parts[0] : "follows " + rows.size + " runs: " + parts.join(", ");
    say(at("headline"), said);
    document.title = "whyloss " + said;
  }

  // ---------------------------------------------------------------- what is looked at
  function choose(id, on) {
    picked = true;
    chosen = chosen.filter(other => other !== id);
    if (on) chosen.push(id);
    arrange();
  }

  function firstChoice() {  // runs that go on, else the one written last
    if (!rows.size || picked && (!chosen.length || chosen.some(id => rows.has(id)))) return;
    const known = Array.from(rows.values()).map(entry => entry.row).sort((a, b) => (b.wrote || 0) - (a.wrote || 0));
    const running = known.filter(row => row.kind === "running");
    chosen = (running.length ? running.slice(0, 2) : known.slice(0, 1)).map(row => row.id);
    picked = true;
  }

  function arrange() {
    history.replaceState(null, "", chosen.length ? "#runs=" + chosen.join(",") : location.pathname + location.search);
    const here = chosen.filter(id => rows.has(id));
    for (const [id, column] of columns) if (!here.includes(id)) { column.charts.forEach(one => one.chart.remove()); column.section.remove(); columns.delete(id); }
    here.forEach((id, i) => {
      if (!columns.has(id)) columns.set(id, begin(id));
      const { section } = columns.get(id);
      if (at("columns").children[i] !== section) at("columns").insertBefore(section, at("columns").children[i] || null);
    });
    for (const [id, entry] of rows) {
      entry.box.checked = here.includes(id);
      entry.box.disabled = !entry.box.checked && here.length >= MOST;
      entry.tr.classList.toggle("chosen", entry.box.checked);
    }
    at("columns").classList.toggle("one", here.length === 1);
    at("overlay").hidden = here.length < 2;
    at("same").hidden = here.length < 2;
    at("how").hidden = here.length === 0;
    here.forEach(id => { head(id); refresh(id); });
    lay();
  }

  function begin(id) {
    const section = make("section", null, "run"), header = make("header"), title = make("h2"), state = make("p");
    header.append(title, state);
    section.append(header);
    title.id = "title-" + id;
    section.setAttribute("aria-labelledby", title.id);
    return { section, title, state, charts: new Map(), version: null, busy: false };
  }

  function head(id) {
    const column = columns.get(id), entry = rows.get(id);
    if (!column || !entry) return;
    const { row } = entry, i = chosen.filter(other => rows.has(other)).indexOf(id);
    column.title.replaceChildren(...(columns.size > 1 ? [charts.key(1 + i, i)] : []), document.createTextNode(row.name));
    const words = make("span", SYMBOL[row.kind] + " " + row.words, COLOUR[row.kind]);
    column.age = make("span", row.wrote ? ", written " + ago(row.wrote) : "", "soft");
    column.state.replaceChildren(words, column.age, make("span", row.step == null ? "" : ", step " + row.step + ", loss " + row.last, "soft"));
  }

  // ---------------------------------------------------------------- pictures
  async function refresh(id) {
    const column = columns.get(id), entry = rows.get(id);
    if (!column || !entry || column.busy || paused || column.version === entry.row.version) return;
    column.busy = true;
    try {
      const answer = await fetch("pictures?run=" + id);
      if (answer.ok) {
        const made = await answer.json();
        if (columns.get(id) === column) { show(id, column, made.figures); column.version = made.version; }
      }
    } catch (error) { if (!(error instanceof TypeError)) console.error(error); }  // a TypeError of fetch: no connection, which the stream tells
    setTimeout(() => { column.busy = false; refresh(id); }, GAP);
  }

  function parsed(html) {  // made by the server, every name in it escaped; the policy runs no script in it
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.firstElementChild;
  }

  function show(id, column, figures) {
    for (const [name, one] of column.charts) if (!figures.some(figure => figure.name === name)) { one.chart.remove(); one.box.remove(); column.charts.delete(name); }
    let before = column.section.firstElementChild;
    for (const figure of figures) {
      const fresh = parsed(figure.html);
      let one = column.charts.get(figure.name);
      Object.assign(figure, { own: figure.heat && [figure.heat.low, figure.heat.high], plain: !figure.log_y });
      if (one) {
        Object.assign(figure, { room: one.chart.figure.room, log_y: figure.plain ? one.chart.figure.log_y : true });
        for (const part of ["figcaption", ".ramp"]) {
          const [old, now] = [one.box.querySelector(part), fresh.querySelector(part)];
          if (old && now && old.innerHTML !== now.innerHTML) old.replaceChildren(...now.childNodes);
        }
        one.box.dataset.label = fresh.dataset.label;
        one.chart.update(figure);
      } else {
        before.after(fresh);
        one = { box: fresh, chart: charts.draw(fresh, figure) };
        column.charts.set(figure.name, one);
        const name = figure.name;
        table(fresh, () => "numbers?run=" + id + "&figure=" + name);
      }
      before = one.box;
      one.box.dataset.step = newest(figure);
      if (one.box.querySelector("details").open) one.box.ask();
    }
    lay();
  }

  function newest(figure) {  // the last step in a picture over steps
    const xs = figure.heat ? figure.heat.columns : figure.ticks.length || !figure.curves.length ? [] : figure.curves[0].x;
    return xs.length ? xs[xs.length - 1] : "";
  }

  function table(box, address) {  // the numbers behind a picture are asked for while they are open
    const details = box.querySelector("details"), place = box.querySelector("details .scroll");
    box.ask = async () => {
      const answer = await fetch(address()).catch(() => null);
      if (answer && answer.ok) place.innerHTML = await answer.text();
    };
    details.addEventListener("toggle", () => { if (details.open) box.ask(); });
  }

  let laid = 0;
  function lay() { if (!laid) laid = requestAnimationFrame(() => { laid = 0; alike(); together(); }); }

  function reach(figures) {
    const values = figures.flatMap(figure => figure.heat ? figure.own : figure.curves.flatMap(curve => curve.y.filter(y => y != null)));
    return values.length ? values.reduce(([lo, hi], y) => [Math.min(lo, y), Math.max(hi, y)], [Infinity, -Infinity]) : null;
  }

  function alike() {  // one scale for the same picture of all runs, so that they can be compared by eye
    const on = at("alike").checked && columns.size > 1, by = new Map();
    for (const column of columns.values()) for (const [name, one] of column.charts) by.set(name, (by.get(name) || []).concat(one));
    for (const every of by.values()) {
      const figures = every.map(one => one.chart.figure);
      const same = on && every.length > 1, room = same ? reach(figures) : null;
      const wide = room && room[0] > 0 && room[1] / room[0] > 100 && !figures[0].share;  // as where a single picture takes a log scale
      for (const one of every) {
        const figure = one.chart.figure, now = JSON.stringify(room);
        if (figure.heat) {
          const [low, high] = room || figure.own;
          if (low === figure.heat.low && high === figure.heat.high) continue;
          [figure.heat.low, figure.heat.high] = [low, high];
          const ends = one.box.querySelectorAll(".ramp > span");
          ends[0].textContent = charts.show(low);
          ends[1].firstChild.textContent = charts.show(high) + (figure.heat.log ? ", log scale; " : "; ");
          one.chart.update(figure);
          continue;
        }
        const log = wide || !figure.plain;
        if (JSON.stringify(figure.room || null) === now && figure.log_y === log) continue;
        one.chart.update({ ...figure, room, log_y: log });
      }
    }
  }

  function together() {
    const curves = chosen.filter(id => columns.has(id)).map(id => [rows.get(id), columns.get(id).charts.get("loss")])
      .map(([entry, one]) => ({ label: entry.row.name, x: one && one.chart.figure.curves.length ? one.chart.figure.curves[0].x : [], y: one && one.chart.figure.curves.length ? one.chart.figure.curves[0].y : [] }));
    if (curves.length < 2) { if (overlay) { overlay.remove(); overlay = null; } return; }
    const values = curves.flatMap(curve => curve.y.filter(y => y != null));
    const [lo, hi] = values.reduce(([a, b], y) => [Math.min(a, y), Math.max(b, y)], [Infinity, -Infinity]);
    const figure = { name: "loss", x_name: "optimizer step", curves, log_x: false, log_y: lo > 0 && hi / lo > 100, ordered: false, share: false, ticks: [], guides: [],
      events: [], bands: [], first_colour: 1 };
    if (overlay) overlay.update(figure); else overlay = charts.draw(at("together"), figure);
    if (at("together").querySelector("details").open) at("together").ask();
  }

  // ---------------------------------------------------------------- alerts
  function tell(alert) {
    const item = make("li", null, (alert.alert ? "alert" : "") + (first ? "" : " new")), when = alert.unix ? new Date(alert.unix * 1000) : null;
    const time = make("time", when ? when.toLocaleTimeString() : "", "soft");
    if (when) time.dateTime = when.toISOString();
    item.append(make("span", (alert.alert ? "⚠ " : "") + alert.kind, "kind"), " in ", make("strong", alert.name), make("span", (alert.step == null ? "" : ", step " + alert.step) + (when ? ", " : ""), "soft"), time,
      make("div", alert.message + (alert.expected ? " (expected: " + alert.expected + ")" : "")));
    at("alerts").prepend(item);
    while (at("alerts").children.length > LISTED) at("alerts").lastElementChild.remove();
  }

  // ---------------------------------------------------------------- the stream
  function news(told) {
    ahead = told.now - Date.now() / 1000;
    if (told.first) { at("alerts").replaceChildren(); first = true; Array.from(rows.keys()).filter(id => !told.runs.some(row => row.id === id)).forEach(forget); }
    told.gone.forEach(forget);
    told.runs.forEach(put);
    told.alerts.forEach(tell);
    at("quiet").hidden = at("alerts").children.length > 0;
    at("alerts").parentElement.hidden = at("alerts").children.length === 0;
    at("notes").replaceChildren(...told.notes.map(note => make("li", note)));
    at("notes").hidden = told.notes.length === 0;
    at("list").hidden = rows.size === 0;
    headline();
    const shown = chosen.filter(id => columns.has(id)).length;
    firstChoice();
    if (chosen.filter(id => rows.has(id)).length !== shown || told.first) arrange();
    told.runs.forEach(row => { head(row.id); refresh(row.id); });
    if (first) { at("alerts").parentElement.setAttribute("role", "log"); first = false; }
  }

  function forget(id) {
    const entry = rows.get(id);
    if (entry) { entry.tr.remove(); rows.delete(id); }
  }

  function connection(words, lost) {
    say(at("connection"), words);
    at("connection").className = lost ? "lost" : "soft";
  }

  function connect() {
    if (stream || paused || document.hidden) return;
    stream = new EventSource("events");
    stream.onopen = () => connection("● live", false);
    stream.addEventListener("news", event => news(JSON.parse(event.data)));
    stream.onerror = () => {
      connection("The connection to whyloss serve is lost; trying again. What is shown is how it was.", true);
      if (stream && stream.readyState === EventSource.CLOSED) { disconnect(); setTimeout(again, 2000); }
    };
  }

  async function again() {
    const answer = await fetch("state").catch(() => null);
    if (answer && answer.status === 401) connection("This server has another key: open the address that whyloss serve printed.", true);
    else connect();
  }

  function disconnect() { if (stream) stream.close(); stream = null; }

  at("pause").addEventListener("click", () => {
    paused = !paused;
    at("pause").setAttribute("aria-pressed", String(paused));
    say(at("pause"), paused ? "Go on" : "Pause");
    if (paused) { disconnect(); connection("paused", false); } else { connect(); columns.forEach((_, id) => refresh(id)); }
  });
  at("alike").addEventListener("change", lay);
  document.addEventListener("visibilitychange", () => {  // a browser opens few connections to one place: hidden pages hold none
    if (document.hidden) disconnect(); else connect();
  });
  setInterval(() => {
    if (paused || !stream || stream.readyState !== EventSource.OPEN) return;  // while nothing comes, nothing seems to grow older
    for (const entry of rows.values()) say(entry.cells[1], ago(entry.row.wrote));
    for (const [id, column] of columns) if (column.age && rows.has(id)) say(column.age, rows.get(id).row.wrote ? ", written " + ago(rows.get(id).row.wrote) : "");
  }, 1000);
  table(at("together"), () => "together?" + chosen.filter(id => rows.has(id)).map(id => "run=" + id).join("&"));
  connect();
})();
