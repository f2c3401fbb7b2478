  /* The segments: unpacked, scored, sorted and searched. A page without them ends here. */
  const holder = byId("explorer-facts");
  if (!holder) {
    root.dataset.ready = "yes";
    return;
  }
  const facts = JSON.parse(holder.textContent);
  const PAGE = 3;
  const MISSING = 65535;
  const nSystems = facts.systems.length;
  const nSegments = facts.segments.length;
  const list = byId("x-list");
  let texts = [];
  let codes = new Uint16Array(0);
  let found = [];
  let page = 0;
  let pinned = -1; // the segment that a link leads to

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

  const CONTROLS = ["a", "b", "score", "human", "sort", "domain", "reference", "search", "range", "low", "high"];
  const ui = Object.fromEntries(CONTROLS.map((name) => [name, byId(`x-${name}`)]));
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
  const RANGES = [
    ["either", "A or B, by the score"], ["a", "A, by the score"], ["b", "B, by the score"],
    ["gap", "A minus B, by the score"], ["human", "A or B, by the human score"],
    ["human-gap", "A minus B, by the human score"],
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
    const every = [facts.segments[i], document_, source, ...references,
      outputs[chosen("a")], outputs[chosen("b")]];
    const text = every.filter((t) => t).join("\n").toLowerCase();
    return words.every((word) => text.includes(word));
  }

  /** Give what tells whether a segment's scores are in the range that is asked for; null: all are. */
  function ranged(a, b) {
    const [low, high] = [ui.low, ui.high].map((field) => (field.value === "" ? NaN : Number(field.value)));
    if (!facts.scores.length || (Number.isNaN(low) && Number.isNaN(high))) return null;
    const kind = ui.range.value;
    const s = kind.startsWith("human") ? chosen("human") : chosen("score");
    const inside = (x) => !Number.isNaN(x) && !(x < low) && !(x > high);
    if (kind.endsWith("gap")) return (i) => inside(value(s, a, i) - value(s, b, i));
    if (kind === "a" || kind === "b") return (i) => inside(value(s, kind === "a" ? a : b, i));
    return (i) => inside(value(s, a, i)) || inside(value(s, b, i));
  }

  /** Find and sort the segments that are asked for. */
  function find() {
    const words = ui.search.value.toLowerCase().split(/\s+/).filter((w) => w);
    const domain = facts.domain ? chosen("domain") : -1;
    const [a, b, m] = [chosen("a"), chosen("b"), chosen("score")];
    const h = humans.length ? chosen("human") : -1;
    const key = facts.scores.length ? keys[ui.sort.value] : keys.order;
    const within = ranged(a, b);
    found = [];
    for (let i = 0; i < nSegments; i += 1) {
      if (domain >= 0 && facts.domain[i] !== domain) continue;
      if (words.length && !holds(i, words)) continue;
      if (within && !within(i)) continue;
      const k = key(i, a, b, m, h);
      found.push([Number.isNaN(k) ? -Infinity : k, i]);
    }
    found.sort((x, y) => y[0] - x[0] || x[1] - y[1]);
  }
