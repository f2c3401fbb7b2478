"use strict";
(() => {
  const byId = (id) => document.getElementById(id);

  /** Make an element; text goes in as text, never as markup. */
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  /* Tables: headings sort, long ones are shown in parts. */
  const WINDOW = 60;
  const figure = (text) => {
    const value = Number(text.replace(/[,<%\s]/g, "").replace("−", "-"));
    return text.trim() === "" || Number.isNaN(value) ? null : value;
  };

  function sortable(table) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const state = { rows, all: rows.length <= WINDOW };
    const draw = () => {
      const shown = state.all ? state.rows : state.rows.slice(0, WINDOW);
      body.replaceChildren(...shown);
    };
    [...table.tHead.rows[0].cells].forEach((cell, column) => {
      const button = make("button", { type: "button" }, ...cell.childNodes);
      cell.replaceChildren(button);
      button.addEventListener("click", () => {
        const keys = new Map(rows.map((row) => [row, row.cells[column].textContent.trim()]));
        const numeric = rows.every((row) => keys.get(row) === "--" || figure(keys.get(row)) !== null);
        const before = cell.getAttribute("aria-sort");
        const down = before ? before === "ascending" : numeric;
        const sign = down ? -1 : 1;
        const compare = (a, b) => {
          const [x, y] = [keys.get(a), keys.get(b)];
          if (x === "--" || y === "--") return (x === "--") - (y === "--");
          return sign * (numeric ? figure(x) - figure(y) : x.localeCompare(y, "en", { numeric: true }));
        };
        state.rows = [...rows].sort(compare);
        for (const row of rows) row.classList.remove("rule");
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        cell.setAttribute("aria-sort", down ? "descending" : "ascending");
        draw();
      });
    });
    if (!state.all) {
      const more = make("button", { type: "button" }, `Show all ${rows.length} rows`);
      more.addEventListener("click", () => {
        state.all = true;
        more.remove();
        draw();
      });
      table.parentElement.after(more);
      draw();
    }
  }
  document.querySelectorAll("main table:not(.matrix)").forEach((table) => {
    if (table.tHead && table.tBodies.length && table.tBodies[0].rows.length > 1) sortable(table);
  });

  /* What a mark or a cell stands for, on hover and on touch. */
  const tip = byId("tip");
  /** What a cell of a matrix says, in words. */
  function verdict(cell) {
    const row = cell.parentElement.cells[0].textContent;
    const column = cell.closest("table").tHead.rows[0].cells[cell.cellIndex].textContent;
    const p = cell.dataset.p || cell.textContent;
    const shown = p === "–" ? "no test" : `p ${p.startsWith("<") ? "< 0" + p.slice(1) : "= " + p.replace(/^\./, "0.")}`;
    const kind = cell.className[0];
    if (kind === "w") return `${row} beats ${column}, ${shown}`;
    if (kind === "l") return `${column} beats ${row}, ${shown}`;
    return `${row} and ${column}: not decided, ${shown}`;
  }
  function showTip(event) {
    const near = event.target.closest ? (selector) => event.target.closest(selector) : () => null;
    const target = near("[data-tip]") || near(".matrix td:not(.s)");
    tip.hidden = !target;
    if (!target) return;
    tip.textContent = target.getAttribute("data-tip") || verdict(target);
    const x = Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = event.clientY + 18 + tip.offsetHeight < window.innerHeight;
    tip.style.left = `${Math.max(4, x)}px`;
    tip.style.top = `${below ? event.clientY + 16 : event.clientY - tip.offsetHeight - 10}px`;
  }
  document.addEventListener("pointerover", showTip);
  document.addEventListener("pointerdown", showTip);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") tip.hidden = true;
  });

  /* The explorer. */
  const holder = byId("explorer-facts");
  if (!holder) return;
  const facts = JSON.parse(holder.textContent);
  const PAGE = 10;
  const MISSING = 65535;
  const nSystems = facts.systems.length;
  const nSegments = facts.segments.length;
  const list = byId("x-list");
  let texts = [];
  let codes = new Uint16Array(0);
  let found = [];
  let page = 0;

  async function unpack(id) {
    const raw = atob(byId(id).textContent);
    const bytes = Uint8Array.from(raw, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).arrayBuffer();
  }

  const at = (score, system, segment) => codes[(score * nSystems + system) * nSegments + segment];
  function value(score, system, segment) {
    const code = at(score, system, segment);
    const fact = facts.scores[score];
    return code === MISSING ? NaN : (fact.low + code) / 10 ** fact.digits;
  }
  const oriented = (score, system, segment) =>
    value(score, system, segment) * (facts.scores[score].lower ? -1 : 1);

  /** Where each code stands among all cells of its score, 0 worst and 1 best; ties in the middle. */
  const standings = new Map();
  function standing(score, system, segment) {
    if (!standings.has(score)) {
      const counts = new Float64Array(MISSING);
      let total = 0;
      const start = score * nSystems * nSegments;
      for (let i = start; i < start + nSystems * nSegments; i += 1) {
        if (codes[i] !== MISSING) { counts[codes[i]] += 1; total += 1; }
      }
      let below = 0;
      for (let c = 0; c < MISSING; c += 1) {
        const here = counts[c];
        const middle = (below + here / 2) / Math.max(1, total);
        counts[c] = facts.scores[score].lower ? 1 - middle : middle;
        below += here;
      }
      standings.set(score, counts);
    }
    const code = at(score, system, segment);
    return code === MISSING ? NaN : standings.get(score)[code];
  }

  const ui = Object.fromEntries(
    ["a", "b", "score", "human", "sort", "domain", "reference", "search"].map((n) => [n, byId(`x-${n}`)]));
  const chosen = (name) => Number(ui[name].value);
  const humans = facts.scores.map((s, i) => [s, i]).filter(([s]) => s.human).map(([, i]) => i);

  function options(select, labels, first, values) {
    select.replaceChildren(...labels.map((label, i) =>
      make("option", { value: values ? values[i] : i }, label)));
    if (first !== undefined) select.value = String(first);
  }
  const SORTS = [
    ["people", "human and score disagree on A against B", true],
    ["people-a", "human and score disagree on A", true],
    ["people-b", "human and score disagree on B", true],
    ["gap", "difference of A and B", false],
    ["a", "A better by most", false],
    ["b", "B better by most", false],
    ["order", "order of the set", false],
  ];

  const keys = {
    people: (i, a, b, m, h) => Math.abs(
      standing(h, a, i) - standing(h, b, i) - standing(m, a, i) + standing(m, b, i)),
    "people-a": (i, a, b, m, h) => Math.abs(standing(h, a, i) - standing(m, a, i)),
    "people-b": (i, a, b, m, h) => Math.abs(standing(h, b, i) - standing(m, b, i)),
    gap: (i, a, b, m) => Math.abs(oriented(m, a, i) - oriented(m, b, i)),
    a: (i, a, b, m) => oriented(m, a, i) - oriented(m, b, i),
    b: (i, a, b, m) => oriented(m, b, i) - oriented(m, a, i),
    order: () => 0,
  };

  function holds(i, words) {
    const [document_, source, references, outputs] = texts[i];
    const all = [facts.segments[i], document_, source, ...references,
      outputs[chosen("a")], outputs[chosen("b")]];
    const text = all.filter((t) => t).join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  }

  function find() {
    const words = ui.search.value.toLowerCase().split(/\s+/).filter((w) => w);
    const domain = facts.domain ? chosen("domain") : -1;
    const [a, b, m] = [chosen("a"), chosen("b"), chosen("score")];
    const h = humans.length ? chosen("human") : -1;
    const key = facts.scores.length ? keys[ui.sort.value] : keys.order;
    found = [];
    for (let i = 0; i < nSegments; i += 1) {
      if (domain >= 0 && facts.domain[i] !== domain) continue;
      if (words.length && !holds(i, words)) continue;
      const k = key(i, a, b, m, h);
      found.push([Number.isNaN(k) ? -Infinity : k, i]);
    }
    found.sort((x, y) => y[0] - x[0] || x[1] - y[1]);
    page = 0;
    draw();
  }

  /* Differences between two outputs: words (single characters where a script has no blanks). */
  const WORD = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]|[\p{L}\p{N}\p{M}]+|\s+|./gsu;
  function own(one, other) {
    const x = one.match(WORD) || [];
    const y = other.match(WORD) || [];
    if (x.length * y.length > 4e6) return [[], []];
    const width = y.length + 1;
    const table = new Uint16Array((x.length + 1) * width);
    for (let i = x.length - 1; i >= 0; i -= 1) {
      for (let j = y.length - 1; j >= 0; j -= 1) {
        table[i * width + j] = x[i] === y[j] ? table[(i + 1) * width + j + 1] + 1
          : Math.max(table[(i + 1) * width + j], table[i * width + j + 1]);
      }
    }
    const spans = [[], []];
    let [i, j, p, q] = [0, 0, 0, 0];
    const step = (side, word, place) => {
      if (word.trim()) spans[side].push([place, place + word.length]);
    };
    while (i < x.length || j < y.length) {
      if (i < x.length && j < y.length && x[i] === y[j]) {
        p += x[i].length; q += y[j].length; i += 1; j += 1;
      } else if (j >= y.length || (i < x.length && table[(i + 1) * width + j] >= table[i * width + j + 1])) {
        step(0, x[i], p); p += x[i].length; i += 1;
      } else {
        step(1, y[j], q); q += y[j].length; j += 1;
      }
    }
    return spans;
  }

  /** Characters, as files count them, to places in a string of this language. */
  function places(text, start, end) {
    const points = [...text];
    const before = points.slice(0, start).join("").length;
    return [before, before + points.slice(start, end).join("").length];
  }

  function marked(text, spans, name, mistakes) {
    const wrong = mistakes.filter((m) => m[2] !== null)
      .map((m) => [...places(text, m[2], m[3]), m[1]]).filter(([s, e]) => e > s);
    const cuts = [...new Set([0, text.length, ...spans.flat(), ...wrong.flatMap(([s, e]) => [s, e])])]
      .sort((x, y) => x - y);
    return cuts.slice(0, -1).map((from, k) => {
      const to = cuts[k + 1];
      const part = text.slice(from, to);
      const differs = spans.some(([s, e]) => s <= from && to <= e);
      const kinds = wrong.filter(([s, e]) => s <= from && to <= e).map((w) => w[2]);
      if (!differs && !kinds.length) return document.createTextNode(part);
      const classes = [differs ? name : "", kinds.length ? "wrong" : ""].filter((c) => c);
      return make("mark", { class: classes.join(" "), "data-tip": kinds.length ? kinds.join("; ") : null }, part);
    });
  }

  const shown = (score, x) => (Number.isNaN(x) ? "--" : x.toFixed(Math.max(0, facts.scores[score].digits)));
  function scoreRows(which, a, b, i) {
    return which.map((s) => {
      const [x, y] = [value(s, a, i), value(s, b, i)];
      return make("tr", {},
        make("th", { scope: "row" }, facts.scores[s].name + (facts.scores[s].lower ? " ↓" : "")),
        make("td", { class: "number" }, shown(s, x)),
        make("td", { class: "number" }, shown(s, y)),
        make("td", { class: "number" }, shown(s, x - y)));
    });
  }
  function scoreTable(which, a, b, i) {
    const heads = ["score", facts.systems[a], facts.systems[b], "difference"];
    return make("table", {},
      make("thead", {}, make("tr", {}, ...heads.map((t, k) => make("th", { scope: "col", class: k ? "number" : null }, t)))),
      make("tbody", {}, ...scoreRows(which, a, b, i)));
  }

  function mistake([, kind, start, end, text, inSource], whole) {
    const words = text || (start === null || whole === null ? "" : whole.slice(...places(whole, start, end)));
    const short = words.length > 60 ? `${words.slice(0, 59)}…` : words;
    return kind + (short.trim() ? `: “${short}”` : "") + (inSource ? " (in the source)" : "");
  }

  const [from, to] = (facts.languages || [null, null]);
  const wrap = (node) => make("div", { class: "scroll" }, node);
  function card(i) {
    const [document_, source, references, outputs, mistakes] = texts[i];
    const [a, b] = [chosen("a"), chosen("b")];
    const about = [`Segment ${facts.segments[i]}`];
    if (facts.domain && facts.domain[i] >= 0) about.push(facts.domains[facts.domain[i]]);
    if (document_ !== null) about.push(`document ${document_}`);
    const texts_ = make("dl", {});
    if (source !== null) {
      const missing = mistakes.filter((m) => m[5] && (m[0] === a || m[0] === b));
      texts_.append(make("dt", {}, "Source"),
        make("dd", { dir: "auto", lang: from }, ...marked(source, [], "", missing)));
    }
    const reference = references.length ? chosen("reference") : -1;
    if (reference >= 0 && references[reference] !== null) {
      texts_.append(make("dt", {}, `Reference ${facts.references[reference]}`),
        make("dd", { dir: "auto", lang: to }, references[reference]));
    }
    const both = [outputs[a], outputs[b]];
    const differ = both[0] !== null && both[1] !== null ? own(both[0], both[1]) : [[], []];
    const pair = make("dl", { class: "outputs" });
    [a, b].forEach((system, k) => {
      if (both[k] === null) return;
      const mine = mistakes.filter((m) => m[0] === system);
      const named = mine.map((m) => make("li", {}, mistake(m, m[5] ? source : both[k])));
      pair.append(make("div", {}, make("dt", {}, `${"AB"[k]}: ${facts.systems[system]}`),
        make("dd", { dir: "auto", lang: to },
          ...marked(both[k], differ[k], k ? "diff-b" : "diff-a", mine.filter((m) => !m[5]))),
        named.length ? make("ul", { class: "mistakes", "aria-label": "mistakes" }, ...named) : null));
    });
    const main = [...new Set([...(humans.length ? [chosen("human")] : []), chosen("score")])];
    const rest = facts.scores.map((_, s) => s).filter((s) => !main.includes(s));
    const parts = [texts_, pair];
    if (facts.scores.length) parts.push(wrap(scoreTable(main, a, b, i)));
    if (rest.length) {
      const more = make("details", {}, make("summary", {}, `${rest.length} more scores`));
      more.addEventListener("toggle", () => {
        if (more.open && more.children.length === 1) more.append(wrap(scoreTable(rest, a, b, i)));
      });
      parts.push(more);
    }
    return make("article", {}, make("h3", {}, about.join(" · ")), ...parts);
  }

  function draw() {
    const start = page * PAGE;
    const here = found.slice(start, start + PAGE);
    list.replaceChildren(...here.map(([, i]) => card(i)));
    byId("x-count").textContent = found.length
      ? `${start + 1}–${start + here.length} of ${found.length} segments` : "No segment matches.";
    byId("x-back").disabled = page === 0;
    byId("x-next").disabled = start + PAGE >= found.length;
  }

  function turn(by) {
    page += by;
    draw();
    byId("explorer-form").scrollIntoView({ block: "nearest" });
  }

  function setUp() {
    options(ui.a, facts.systems, facts.pair[0] ?? 0);
    options(ui.b, facts.systems, facts.pair[1] ?? 0);
    const metric = facts.scores.findIndex((s) => !s.human);
    options(ui.score, facts.scores.map((s) => s.name), humans.length && metric > 0 ? metric : 0);
    options(ui.human, humans.map((i) => facts.scores[i].name), humans[0], humans);
    byId("x-human-label").hidden = !humans.length;
    const both = humans.length && metric >= 0;
    const sorts = facts.scores.length ? SORTS.filter((s) => both || !s[2]) : SORTS.slice(-1);
    options(ui.sort, sorts.map((s) => s[1]), sorts[0][0], sorts.map((s) => s[0]));
    byId("x-domain-label").hidden = !facts.domain;
    options(ui.domain, ["all", ...facts.domains], -1, [-1, ...facts.domains.keys()]);
    byId("x-reference-label").hidden = facts.references.length < 2;
    options(ui.reference, facts.references, facts.references.length ? 0 : undefined);
    for (const name of ["a", "b", "score", "human", "sort", "domain"]) ui[name].addEventListener("change", find);
    ui.reference.addEventListener("change", draw);
    let waiting = 0;
    ui.search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(find, 150);
    });
    byId("explorer-form").addEventListener("submit", (event) => event.preventDefault());
    byId("x-back").addEventListener("click", () => turn(-1));
    byId("x-next").addEventListener("click", () => turn(1));
    document.querySelectorAll("td[data-pair]").forEach((cell) => cell.addEventListener("click", () => {
      const [a, b] = cell.dataset.pair.split(" ");
      ui.a.value = a;
      ui.b.value = b;
      if (facts.scores.length) ui.sort.value = "gap";
      find();
      byId("segments").scrollIntoView();
    }));
    byId("explorer-form").hidden = false;
    document.querySelector(".pager").hidden = false;
    find();
    document.documentElement.dataset.ready = "yes";
  }

  async function start() {
    if (typeof DecompressionStream === "undefined") {
      list.textContent = "This browser can't unpack the segments; one of 2023 or newer can.";
      return;
    }
    const [words, bytes] = await Promise.all([unpack("explorer-texts"), unpack("explorer-scores")]);
    texts = JSON.parse(new TextDecoder().decode(words));
    const raw = new Uint8Array(bytes);
    const half = raw.length / 2;
    codes = new Uint16Array(half);
    for (let i = 0; i < half; i += 1) codes[i] = raw[i] | (raw[half + i] << 8);
    setUp();
  }
  // After the first paint: the summary does not wait for the segments.
  const failed = (error) => {
    list.textContent = `The segments can't be shown: ${error.message}`;
  };
  requestAnimationFrame(() => setTimeout(() => start().catch(failed), 0));
})();
