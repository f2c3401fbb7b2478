  /* One segment as the reader sees it. */
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

  // A code that no language has would make a screen reader guess.
  const languages = new Intl.DisplayNames("en", { type: "language", fallback: "none" });
  const [from, to] = (facts.languages || [null, null]).map((code) => {
    try { return languages.of(code) ? code : null; } catch { return null; }
  });
  const wrap = (node) => {
    const scroll = make("div", { class: "scroll" }, node);
    watch(scroll);
    return scroll;
  };
  /** A part that is made when it is opened. */
  function lazily(title, content) {
    const more = make("details", {}, make("summary", {}, title));
    more.addEventListener("toggle", () => {
      if (more.open && more.children.length === 1) more.append(content());
    });
    return more;
  }
  /** All systems on one segment, best first by the score, each of which can take the place of B. */
  function everybody(i) {
    const outputs = texts[i][3];
    const main = [...new Set([...(humans.length ? [chosen("human")] : []), ...(facts.scores.length ? [chosen("score")] : [])])];
    const by = main[main.length - 1];
    const order = facts.systems.map((_, s) => s);
    const key = (s) => (by === undefined || Number.isNaN(value(by, s, i)) ? -Infinity : oriented(by, s, i));
    order.sort((s, t) => key(t) - key(s) || s - t);
    const heads = ["system", ...main.map((s) => facts.scores[s].name), "output", ""];
    return wrap(make("table", { class: "everybody" },
      make("thead", {}, make("tr", {}, ...heads.map((t) => (t ? make("th", { scope: "col" }, t) : make("td", {}))))),
      make("tbody", {}, ...order.map((system) => {
        const button = make("button", { type: "button" }, "Show as B");
        button.addEventListener("click", () => { ui.b.value = String(system); changed(i); });
        const shows = system !== chosen("a") && system !== chosen("b");
        return make("tr", {}, make("th", { scope: "row" }, facts.systems[system]),
          ...main.map((s) => make("td", { class: "number" }, shown(s, value(s, system, i)))),
          make("td", { dir: "auto", lang: to }, outputs[system] === null ? "--" : outputs[system]),
          make("td", {}, shows ? button : null));
      }))));
  }
  /** One segment: texts, the outputs of A and B, their differences, mistakes and scores. */
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
        named.length ? make("dd", {}, make("ul", { class: "mistakes", "aria-label": "mistakes" }, ...named)) : null));
    });
    const main = [...new Set([...(humans.length ? [chosen("human")] : []), chosen("score")])];
    const rest = facts.scores.map((_, s) => s).filter((s) => !main.includes(s));
    const parts = [texts_, pair];
    if (facts.scores.length) parts.push(wrap(scoreTable(main, a, b, i)));
    if (rest.length) parts.push(lazily(`${rest.length} more scores`, () => wrap(scoreTable(rest, a, b, i))));
    if (nSystems > 2) parts.push(lazily(`All ${nSystems} systems on this segment`, () => everybody(i)));
    const link = make("a", { href: address(i) }, about[0]);
    const button = make("button", { type: "button", class: "small" }, "Copy link");
    button.addEventListener("click", () => copy(linkTo(i), button));
    const head = make("h3", {}, link, about.slice(1).map((text) => ` · ${text}`).join(""));
    const card_ = make("article", { class: i === pinned ? "pinned" : null, tabindex: "-1" },
      make("div", { class: "card-head" }, head, button), ...parts);
    card_.dataset.segment = i;
    return card_;
  }
