"use strict";
// Draw the page of all runs from its embedded data. All data is inserted as text, never as markup.
(() => {
  const all = JSON.parse(document.getElementById("summary").textContent);
  const { runs, terms } = all;
  const PER_PAGE = 100;
  const SIGNS = { better: "▲ ", worse: "▼ ", "": "" };
  const state = { tab: "runs", sort: "name", down: false, filter: "", page: 0, picked: [], run: null, x: null, y: null, columns: null };
  const $ = (id) => document.getElementById(id);

  // An element with its attributes and children; strings become text.
  function make(tag, attributes = {}, ...children) {
    const svg = ["svg", "line", "circle", "polyline", "text", "title"].includes(tag);
    const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }
  const fill = (place, ...children) => place.replaceChildren(...children.filter(Boolean));
  const number = (value) => (value === null || value === undefined ? "" : String(Number(value.toPrecision(4))));
  const interval = (low, high) => (low === null ? "too few" : `[${number(low)}, ${number(high)}]`);
  const distance = (value, ideal) => (ideal === null || value === undefined ? NaN : Math.abs(value - ideal));

  // Columns of readings: keys "PLACE:PHASE" of a run's values.
  const counts = new Map();
  for (const run of runs) for (const column in run.values) counts.set(column, (counts.get(column) || 0) + 1);
  const termOf = (column) => terms[Number(column.split(":")[0])];
  const phaseOf = (column) => column.slice(column.indexOf(":") + 1);
  const titleOf = (column) => termOf(column).title + (phaseOf(column) ? `, ${phaseOf(column)}` : "");
  const readings = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a) || Number(a.split(":")[0]) - Number(b.split(":")[0]));
  const PLAIN = ["name", "method", "model", "settings", "seed", "status"];
  const told = window.innerWidth < 1100 ? ["method", "seed"] : ["method", "model", "seed", "status"];
  const differ = (name) => new Set(runs.map((run) => run[name])).size > 1;
  state.columns = new Set(["name", ...told.filter(differ), ...readings.slice(0, window.innerWidth < 1100 ? 2 : 4)]);
  const haystacks = runs.map((run) => PLAIN.map((name) => `${name}=${run[name]} `).join("").toLowerCase());

  function shown() {
    const words = state.filter.toLowerCase().split(/\s+/).filter(Boolean);
    const left = runs.map((_, place) => place).filter((place) => words.every((word) => haystacks[place].includes(word)));
    const value = (place) => (PLAIN.includes(state.sort) ? runs[place][state.sort] : runs[place].values[state.sort]?.[0]);
    const values = new Map(left.map((place) => [place, value(place)]));
    const collator = new Intl.Collator(undefined, { numeric: true });
    const order = (a, b) => {
      const [first, second] = [values.get(a), values.get(b)];
      const missing = (first === undefined || first === null) - (second === undefined || second === null);
      if (missing) return missing; // runs without a value come last in either order
      const found = typeof first === "number" && typeof second === "number" ? first - second : collator.compare(first ?? "", second ?? "");
      return (state.down ? -found : found) || a - b;
    };
    return left.sort(order);
  }

  // Smallest and largest distance of an interval to the ideal value; null with too few items.
  const away = ([, low, high], ideal) => {
    if (low === null) return null;
    const ends = [distance(low, ideal), distance(high, ideal)];
    return [low <= ideal && ideal <= high ? 0 : Math.min(...ends), Math.max(...ends)];
  };
  const spoiled = (place, column) => runs[place].spoiled.includes(column);

  // The run nearest to the ideal value, if the interval of its distance overlaps no other; null if it cannot be told apart.
  function apart(places, column) {
    const numbers = (place) => runs[place].values[column];
    const far = (place) => distance(numbers(place)[0], termOf(column).ideal);
    const sound = places.filter((place) => !spoiled(place, column));
    const first = sound.reduce((found, place) => (found === null || far(place) < far(found) ? place : found), null);
    if (first === null || numbers(first)[1] === null) return null;
    const bounds = (place) => away(numbers(place), termOf(column).ideal);
    const [least, most] = bounds(first);
    const overlaps = (place) => numbers(place)[1] === null || (bounds(place)[0] <= most && bounds(place)[1] >= least);
    return places.some((place) => place !== first && overlaps(place)) ? null : first;
  }

  function drawRuns() {
    const left = shown();
    const last = Math.max(0, Math.ceil(left.length / PER_PAGE) - 1);
    state.page = Math.min(state.page, last);
    const columns = [...PLAIN, ...readings].filter((column) => state.columns.has(column));
    const best = new Map();
    for (const column of columns.filter((name) => !PLAIN.includes(name) && termOf(name).ideal !== null)) {
      const having = left.filter((place) => runs[place].values[column]);
      best.set(column, apart(having, column));
    }
    const head = make("tr", {}, make("th", {}, ""), ...columns.map(heading));
    const rows = left.slice(state.page * PER_PAGE, (state.page + 1) * PER_PAGE).map((place) => row(place, columns, best));
    fill($("table"), make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
    $("count").textContent = `${left.length} of ${runs.length} runs`;
    const turn = (step, name) => make("button", { onclick: () => { state.page += step; drawRuns(); } }, name);
    fill($("pages"), state.page > 0 ? turn(-1, "back") : null, last > 0 ? ` page ${state.page + 1} of ${last + 1} ` : null, state.page < last ? turn(1, "next") : null);
    drawNotes(left);
    tabs();
  }

  function heading(column) {
    const plain = PLAIN.includes(column);
    const said = plain ? column : titleOf(column);
    const hover = plain ? null : `${termOf(column).said}\n${termOf(column).unit}${termOf(column).ideal === null ? "" : `, ideal ${termOf(column).ideal}`}\n${termOf(column).key}`;
    const direction = state.sort === column ? (state.down ? "descending" : "ascending") : null;
    const sort = () => {
      state.down = state.sort === column ? !state.down : false;
      state.sort = column;
      state.page = 0;
      drawRuns();
      remember();
    };
    return make("th", { "aria-sort": direction, class: plain ? null : "number", "data-column": plain ? column : termOf(column).key }, make("button", { onclick: sort, title: hover }, said));
  }

  function row(place, columns, best) {
    const run = runs[place];
    const box = make("input", { type: "checkbox", "aria-label": `compare ${run.name}`, onchange: () => pick(place) });
    box.checked = state.picked.includes(place);
    const cells = columns.map((column) => {
      if (column === "name") return make("td", { class: "wide" }, make("a", { href: `#run=${place}`, onclick: (event) => { event.preventDefault(); openRun(place); } }, run.name), run.settings ? make("small", { class: "one-line", title: run.settings }, run.settings) : null, run.notes.length ? make("small", { title: run.notes.join("\n") }, `${run.notes.length} note${run.notes.length === 1 ? "" : "s"}`) : null);
      if (column === "model") return make("td", { class: "wide", title: run.model }, run.model.split("/").pop());
      if (column === "status") return make("td", { class: run.status === "finished" ? null : "failed" }, run.status);
      if (PLAIN.includes(column)) return make("td", { class: column === "seed" ? "number" : "wide" }, run[column] === null ? "" : String(run[column]));
      const value = run.values[column];
      if (!value) return make("td");
      const nearest = best.has(column) && best.get(column) === place;
      return make("td", { class: nearest ? "number better" : "number" }, `${nearest ? "▲ " : ""}${number(value[0])}`, make("small", {}, interval(value[1], value[2])));
    });
    return make("tr", { "data-run": place, class: state.picked.includes(place) ? "picked" : null }, make("td", {}, box), ...cells);
  }

  function drawNotes(left) {
    const found = new Map();
    for (const place of left) for (const note of runs[place].notes) found.set(note, (found.get(note) || 0) + 1);
    const lines = [...found].sort((a, b) => b[1] - a[1]).slice(0, 12).map(([note, times]) => make("li", {}, `${note} (${times} of ${left.length} runs)`));
    fill($("notes"), lines.length ? make("div", { class: "heed" }, make("b", {}, "Notes on these runs"), make("ul", {}, ...lines)) : null);
  }

  function drawColumns() {
    const boxes = [...PLAIN, ...readings].map((column) => {
      const box = make("input", { type: "checkbox", onchange: (event) => { event.target.checked ? state.columns.add(column) : state.columns.delete(column); drawRuns(); } });
      box.checked = state.columns.has(column);
      return make("label", {}, box, " ", PLAIN.includes(column) ? column : `${titleOf(column)} (${counts.get(column)} runs)`);
    });
    fill($("columns"), ...boxes);
  }

  function pick(place) {
    state.picked = state.picked.includes(place) ? state.picked.filter((one) => one !== place) : [...state.picked, place].slice(-2);
    drawRuns();
    remember();
  }

  // Details: in the page, or from the server.
  const kept = new Map();
  async function details(place) {
    if (!kept.has(place)) {
      const inside = $(`details-${place}`);
      if (inside) kept.set(place, JSON.parse(inside.textContent));
      else if (all.served) kept.set(place, await (await fetch(`/run/${place}`)).json());
      else kept.set(place, null);
    }
    return kept.get(place);
  }
  const tooMany = () => make("p", {}, "There are too many runs for a page to hold the details of each; start fairlab view with --serve.");

  async function drawCompare() {
    const [a, b] = state.picked;
    if (b === undefined) return fill($("compare"), make("p", {}, "Tick two runs in the table."));
    const [first, second] = await Promise.all([details(a), details(b)]);
    if (!first || !second) return fill($("compare"), tooMany());
    const of = (one) => new Map(one.readings.map((reading) => [`${reading[0]}:${reading[1]}`, reading]));
    const [left, right] = [of(first), of(second)];
    const shared = [...left.keys()].filter((place) => right.has(place));
    const columnOf = (place) => `${place.split(":")[0]}:${phaseOf(place) === "after" ? "" : phaseOf(place)}`;
    const toneOf = (place) => {
      const bounds = [left, right].map((side) => away(side.get(place).slice(2), termOf(place).ideal));
      const nearer = (one, other) => one !== null && other !== null && one[1] < other[0];
      if (nearer(bounds[1], bounds[0]) && !spoiled(b, columnOf(place))) return "better";
      return nearer(bounds[0], bounds[1]) && !spoiled(a, columnOf(place)) ? "worse" : "";
    };
    const widest = new Map(); // by unit, the distance from the ideal value to the end of the plots
    for (const place of shared) for (const side of [left, right]) {
      const { unit, ideal } = termOf(place);
      const far = Math.max(...side.get(place).slice(2, 5).filter((end) => end !== null).map((end) => distance(end, ideal)));
      if (far > (widest.get(unit) || 0)) widest.set(unit, 1.05 * far);
    }
    const whisker = (reading, term, name) => {
      const [value, low, high] = reading.slice(2, 5).map((end) => 50 + (50 * (end - term.ideal)) / widest.get(term.unit));
      return reading[3] === null ? null : make("span", { class: name }, make("i", { style: `left:${low}%;width:${high - low}%` }), make("b", { style: `left:${value}%` }));
    };
    const line = (place) => {
      const [x, y, term, tone] = [left.get(place), right.get(place), termOf(place), toneOf(place)];
      const cell = (r) => make("td", { class: "number" }, number(r[2]), make("small", {}, interval(r[3], r[4])));
      const drawn = widest.get(term.unit) && term.ideal !== null ? make("span", { class: "forest two" }, whisker(x, term, "first"), whisker(y, term, `second ${tone}`)) : null;
      return make("tr", { "data-key": term.key }, named(Number(place.split(":")[0]), phaseOf(place) === "after" ? "" : phaseOf(place)), cell(x), cell(y), make("td", { class: `number ${tone}` }, `${SIGNS[tone]}${y[2] >= x[2] ? "+" : ""}${number(y[2] - x[2])}`), make("td", {}, drawn));
    };
    const asked = (places) => [...new Set(places.map((place) => termOf(place).question))].flatMap((question) => [
      make("tr", { class: "group" }, make("th", { colspan: 5 }, question)), ...places.filter((place) => termOf(place).question === question).map(line)]);
    const folded = (places, name) => (places.length ? make("details", {}, make("summary", {}, `${places.length} ${name}`), make("div", { class: "table" }, make("table", {}, make("tbody", {}, ...asked(places))))) : null);
    const before = shared.filter((place) => phaseOf(place) === "before");
    const rest = shared.filter((place) => phaseOf(place) !== "before");
    const headline = rest.filter((place) => runs[a].values[columnOf(place)] && runs[b].values[columnOf(place)]);
    const own = (name, place, other) => { // of settings, those that the other run lacks
      const words = String(runs[other][name] ?? "").split(" ");
      return name === "settings" ? runs[place].settings.split(" ").filter((word) => !words.includes(word)).join(" ") : String(runs[place][name] ?? "");
    };
    const differing = PLAIN.slice(1).filter((name) => runs[a][name] !== runs[b][name]).map((name) => make("tr", {}, make("td", {}, name), make("td", { class: "number wide" }, own(name, a, b)), make("td", { class: "number wide" }, own(name, b, a)), make("td"), make("td")));
    const head = make("tr", {}, make("th", {}, "what was measured"), make("th", { class: "number" }, runs[a].name), make("th", { class: "number" }, runs[b].name), make("th", { class: "number" }, "second less first"), make("th", {}, "from the ideal value"));
    fill($("compare"), make("p", {}, make("b", {}, answer(headline.filter((place) => termOf(place).ideal !== null).map(toneOf), runs[a].name, runs[b].name))),
      make("div", { class: "table" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...differing, ...asked(headline)))),
      folded(rest.filter((place) => !headline.includes(place)), "more readings"), folded(before, "readings before training"),
      make("p", { class: "note" }, "▲ better, ▼ worse: the second run is nearer to the ideal value, or farther from it, and the 95 % intervals of the two distances do not overlap. A run is never the nearer one if it did not train, if its numbers say nothing about bias, or if its gap fell by collapse alone. In the plot, the centre is the ideal value, the upper line is the first run, and rows with the same unit share a scale. This is not a paired test; fairlab compare runs one."));
  }

  // Sentence on the headline readings of two runs, from their tones.
  function answer(tones, first, second) {
    if (!tones.length) return "The two runs share no headline reading with an ideal value, so neither is called better here.";
    const count = (tone) => tones.filter((one) => one === tone).length;
    const readings = `${tones.length} headline reading${tones.length === 1 ? "" : "s"}`;
    return `Of ${readings}, ${count("better") || "none"} ${count("better") === 1 ? "is" : "are"} nearer to the ideal value in ${second}, ${count("worse") || "none"} in ${first}, and ${count("") || "none"} cannot be told apart by their intervals.`;
  }

  // Trade-off of two readings that have an ideal value.
  const judged = readings.filter((column) => termOf(column).ideal !== null);
  const KEPT = "Is utility kept?";
  state.x = judged.find((column) => termOf(column).question !== KEPT && termOf(column).question !== "What else was measured?") || judged[0];
  state.y = judged.find((column) => termOf(column).question === KEPT) || judged[1] || judged[0];

  function front(points) {
    const sorted = [...points].sort((a, b) => a.x - b.x || a.y - b.y);
    let lowest = Infinity;
    return sorted.filter((point, k) => {
      const same = k > 0 && sorted[k - 1].x === point.x && sorted[k - 1].y === point.y && sorted[k - 1].kept;
      point.kept = point.y < lowest || same;
      lowest = Math.min(lowest, point.y);
      return point.kept;
    });
  }

  function drawTrade() {
    for (const axis of ["x", "y"]) {
      const options = judged.map((column) => make("option", { value: column, selected: column === state[axis] ? "" : null }, titleOf(column)));
      fill($(axis), ...options);
    }
    if (!judged.length) return fill($("plot"), make("p", {}, "No reading of these runs has an ideal value."));
    const of = (place, axis) => distance(runs[place].values[state[axis]]?.[0], termOf(state[axis]).ideal);
    const points = shown().map((place) => ({ place, x: of(place, "x"), y: of(place, "y") })).filter((point) => Number.isFinite(point.x + point.y));
    const best = front(points.filter(({ place }) => ![state.x, state.y].some((column) => spoiled(place, column))));
    const marks = [{ points, kind: "dots", shade: "grey" }, { points: steps(best), kind: "line", shade: "k1" }, { points: best, kind: "dots", shade: "k1" }];
    fill($("plot"), chart(marks, `${titleOf(state.x)}: distance to ideal`, `${titleOf(state.y)}: distance to ideal`));
    const rows = best.map((point) => make("tr", { "data-front": point.place }, make("td", {}, make("a", { href: `#run=${point.place}`, onclick: (event) => { event.preventDefault(); openRun(point.place); } }, runs[point.place].name), make("small", { class: "one-line", title: runs[point.place].settings }, runs[point.place].settings)), make("td", { class: "number" }, number(point.x)), make("td", { class: "number" }, number(point.y))));
    const head = make("tr", {}, ...["not beaten", titleOf(state.x), titleOf(state.y)].map((name, k) => make("th", { class: k ? "number" : null }, name)));
    fill($("front"), make("div", { class: "table" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows))));
  }
  const steps = (points) => points.flatMap((point, k) => (k ? [{ x: point.x, y: points[k - 1].y }, point] : [point]));

  function ticks(low, high, most = 6) {
    const rough = 10 ** Math.floor(Math.log10((high - low) / most));
    const step = [1, 2, 5, 10, 20].map((more) => more * rough).find((one) => (high - low) / one <= most);
    const found = [];
    for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(Number((k * step).toPrecision(10)));
    return found;
  }

  // Marks on one pair of axes; a point with a place opens that run.
  function chart(marks, across, up, width = 720, height = 380) {
    const every = marks.flatMap((mark) => mark.points);
    const range = (values) => {
      const [low, high] = [Math.min(...values, 0), Math.max(...values)];
      return [low < 0 ? low - 0.05 * (high - low) : 0, high > low ? high + 0.05 * (high - low) : low + 1];
    };
    const extent = (name) => range(every.reduce((found, point) => [Math.min(found[0], point[name]), Math.max(found[1], point[name])], [0, every.length ? -Infinity : 1]));
    const [xs, ys] = [extent("x"), extent("y")];
    const [left, right, top, bottom] = [64, width - 14, 10, height - 44];
    const x = (value) => left + ((value - xs[0]) / (xs[1] - xs[0])) * (right - left);
    const y = (value) => bottom - ((value - ys[0]) / (ys[1] - ys[0])) * (bottom - top);
    const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
    const svg = make("svg", { class: "chart", viewBox: `0 0 ${width} ${height}`, role: "img" });
    for (const tick of ticks(...ys)) svg.append(make("line", { class: "grid", x1: left, x2: right, y1: y(tick), y2: y(tick) }), make("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
    for (const tick of ticks(...xs)) svg.append(make("line", { class: "axis", x1: x(tick), x2: x(tick), y1: bottom, y2: bottom + 4 }), make("text", { x: x(tick), y: bottom + 17, "text-anchor": "middle" }, number(tick)));
    svg.append(make("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }), make("text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, cut(across, 100)));
    svg.append(make("text", { x: 12, y: (top + bottom) / 2, "text-anchor": "middle", transform: `rotate(-90 12 ${(top + bottom) / 2})` }, cut(up, 52)));
    for (const mark of marks) {
      if (mark.kind === "line") svg.append(make("polyline", { class: `line ${mark.shade}`, points: mark.points.map((point) => `${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`).join(" ") }));
      else for (const point of mark.points) {
        const open = point.place === undefined ? {} : { onclick: () => openRun(point.place), "data-place": point.place };
        svg.append(make("circle", { class: `dot ${mark.shade}`, cx: x(point.x).toFixed(1), cy: y(point.y).toFixed(1), r: mark.shade === "grey" ? 4 : 5, ...open }, make("title", {}, point.place === undefined ? `${number(point.x)}, ${number(point.y)}` : `${runs[point.place].name} (${number(point.x)}, ${number(point.y)})`)));
      }
    }
    return svg;
  }

  async function drawRun() {
    if (state.run === null) return fill($("run"), make("p", {}, "Click the name of a run in the table."));
    const place = state.run;
    const run = runs[place];
    const about = make("p", {}, `${run.method === "none" ? "Measured without training" : run.method}; ${run.model}; ${run.settings}; seed ${run.seed}; ${run.status}.`);
    const found = await details(place);
    if (state.run !== place) return; // another run was opened in the meantime
    if (!found) return fill($("run"), make("h2", {}, run.name), about, tooMany());
    const notes = found.notes.map(([benchmark, phase, item, text]) => make("li", {}, `${benchmark}${phase ? ` (${phase})` : ""}${item ? `, item ${item}` : ""}: ${text}`));
    const whole = notes.slice(0, 8);
    fill($("run"), make("h2", {}, run.name), about,
      notes.length ? make("div", { class: "heed" }, make("b", {}, "Notes"), make("ul", {}, ...whole), notes.length > 8 ? make("details", {}, make("summary", {}, `${notes.length - 8} more`), make("ul", {}, ...notes.slice(8))) : null) : null,
      ...drawChanges(found), ...drawReadings(found), ...drawCurves(found), ...drawItems(found),
      ...(found.not_run.length ? [make("h3", {}, "Not run"), make("ul", {}, ...found.not_run.map((entry) => make("li", {}, `${entry[0]} ${entry[1]} ${entry[2]}: ${entry[3]}`)))] : []),
      make("h3", {}, "Made by"), make("pre", {}, found.command));
  }

  function table(head, rows) {
    return make("div", { class: "table" }, make("table", {}, make("thead", {}, make("tr", {}, ...head.map((name, k) => make("th", { class: k ? "number" : null }, name)))), make("tbody", {}, ...rows)));
  }
  const named = (place, phase) => make("td", {}, make("span", { class: "term", title: `${terms[place].said}\n${terms[place].unit}\n${terms[place].key}` }, terms[place].title + (phase ? `, ${phase}` : "")));

  function drawChanges(found) {
    const rows = found.changes.filter((change) => change[6]).map(([place, phase, value, low, high, p, , tone]) => make("tr", {}, named(place, phase === "change" ? "" : phase), make("td", { class: `number ${tone}` }, `${SIGNS[tone]}${value > 0 ? "+" : ""}${number(value)}`, make("small", {}, interval(low, high))), make("td", { class: "number" }, number(p))));
    return rows.length ? [make("h3", {}, "What changed"), table(["what was measured", "change", "p, adjusted"], rows)] : [];
  }

  function drawReadings(found) {
    const phases = [...new Set(found.readings.map((reading) => reading[1]))];
    const byTerm = new Map();
    for (const reading of found.readings) byTerm.set(reading[0], { ...byTerm.get(reading[0]), [reading[1]]: reading });
    const rows = [...byTerm].map(([place, of]) => make("tr", {}, named(place, ""), ...phases.map((phase) => (of[phase] ? make("td", { class: "number" }, number(of[phase][2]), make("small", {}, interval(of[phase][3], of[phase][4]))) : make("td"))), make("td", { class: "number" }, terms[place].ideal === null ? "" : number(terms[place].ideal))));
    const body = table(["what was measured", ...phases.map((phase) => phase || "value"), "ideal"], rows);
    return [make("h3", {}, "Readings"), rows.length > 14 ? make("details", {}, make("summary", {}, `${rows.length} readings`), body) : body];
  }

  function drawCurves(found) {
    const names = Object.keys(found.history).filter((name) => found.history[name].length);
    if (!names.length) return [];
    const losses = names.filter((name) => name.endsWith("loss"));
    const select = make("select", { id: "curve", "aria-label": "curve" }, losses.length ? make("option", { value: "" }, "all losses") : null, ...names.map((name) => make("option", { value: name }, name)));
    const place = make("div");
    const draw = () => {
      const chosen = select.value ? [select.value] : losses;
      const points = (name) => found.history[name].filter((pair) => pair[1] !== null).map(([x, y]) => ({ x, y }));
      const marks = chosen.map((name, k) => ({ points: points(name), kind: points(name).length > 12 ? "line" : "dots", shade: `k${k % 8}` }));
      const legend = chosen.map((name, k) => { const svg = make("svg", { viewBox: "0 0 24 10" }, make("line", { class: `line k${k % 8}`, x1: 1, x2: 23, y1: 5, y2: 5 })); return make("li", {}, svg, ` ${name}`); });
      fill(place, make("ul", { class: "legend" }, ...legend), chart(marks, "step", chosen.length === 1 ? chosen[0] : "loss", 720, 300));
    };
    select.addEventListener("change", draw);
    draw();
    return [make("h3", {}, "Training"), make("p", {}, select), place];
  }

  function drawItems(found) {
    if (!found.items.length) return [];
    const select = make("select", { id: "items", "aria-label": "items of a benchmark" }, ...found.items.map((one, k) => make("option", { value: k }, `${one.name} (${one.total} items)`)));
    const place = make("div");
    const draw = () => {
      const one = found.items[Number(select.value)];
      const head = ["item", ...one.phases.flatMap((phase) => one.values.map((value) => `${value}${phase ? `, ${phase}` : ""}`))];
      const limit = 200;
      const rows = one.rows.slice(0, limit).flatMap((item) => openable(item, head.length));
      fill(place, one.missing ? make("p", { class: "note" }, `Texts: ${one.missing}`) : null, table(head, rows), make("p", { class: "note" }, `${Math.min(one.rows.length, limit)} of ${one.total} items, those first whose scores changed most. Click one to see its texts.`));
    };
    select.addEventListener("change", draw);
    draw();
    return [make("h3", {}, "Items"), make("p", {}, select), place];
  }

  function openable([id, scores, texts], width) {
    const body = make("tr", { class: "texts", hidden: "" }, make("td", { colspan: width }, ...(texts.length ? texts.map((text) => make("p", {}, text)) : [make("p", { class: "note" }, "no text")])));
    const toggle = () => { body.hidden = !body.hidden; };
    const cells = scores.flat().map((score) => make("td", { class: "number" }, number(score)));
    const head = make("tr", { class: "item", tabindex: 0, onclick: toggle, onkeydown: (event) => { if (event.key === "Enter") toggle(); } }, make("td", {}, id), ...cells);
    return [head, body];
  }

  function openRun(place) {
    state.run = place;
    show("run");
  }

  const drawers = { runs: drawRuns, trade: drawTrade, compare: drawCompare, run: drawRun };
  function tabs() {
    for (const button of document.querySelectorAll("[data-tab]")) {
      button.setAttribute("aria-selected", String(button.dataset.tab === state.tab));
      if (button.dataset.tab === "compare") button.textContent = `Run against run (${state.picked.length} of 2)`;
    }
  }
  async function show(tab) {
    state.tab = tab;
    for (const name of Object.keys(drawers)) $(name).hidden = name !== tab;
    tabs();
    remember();
    await drawers[tab]();
  }

  // Store the state of the view in the address, so that it can be bookmarked and shared.
  function remember() {
    const { tab, sort, down, filter, picked, run } = state;
    const parts = { tab, sort, down: down ? 1 : "", filter, picked: picked.join(","), run: run ?? "" };
    const told = Object.entries(parts).filter(([, value]) => value !== "").map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    history.replaceState(null, "", `#${told.join("&")}`);
  }
  function recall() {
    const parts = new URLSearchParams(location.hash.slice(1));
    const known = (text) => (/^\d+$/.test(text || "") && Number(text) < runs.length ? Number(text) : null);
    state.filter = parts.get("filter") || "";
    if ([...PLAIN, ...readings].includes(parts.get("sort"))) state.sort = parts.get("sort");
    state.down = parts.get("down") === "1";
    state.picked = (parts.get("picked") || "").split(",").map(known).filter((place) => place !== null).slice(0, 2);
    state.run = known(parts.get("run"));
    state.tab = parts.get("tab") in drawers ? parts.get("tab") : state.run === null ? "runs" : "run";
    $("filter").value = state.filter;
  }

  $("filter").addEventListener("input", (event) => { state.filter = event.target.value; state.page = 0; drawRuns(); remember(); });
  for (const axis of ["x", "y"]) $(axis).addEventListener("change", (event) => { state[axis] = event.target.value; drawTrade(); });
  for (const button of document.querySelectorAll("[data-tab]")) button.addEventListener("click", () => show(button.dataset.tab));
  recall();
  drawColumns();
  drawRuns();
  show(state.tab).then(() => { document.documentElement.dataset.ready = String(Math.round(performance.now())); });
})();
