  /* The explorer: its controls, its pages, and its start. */
  function draw() {
    const start = page * PAGE;
    const here = found.slice(start, start + PAGE);
    list.replaceChildren(...here.map(([, i]) => card(i)));
    byId("x-count").textContent = found.length
      ? `${start + 1}–${start + here.length} of ${found.length} segments` : "No segment matches.";
    byId("x-back").disabled = page === 0;
    byId("x-next").disabled = start + PAGE >= found.length;
    byId("x-csv").disabled = !found.length;
  }

  /** Show anew after a choice; a segment that is given stays in view. */
  function changed(segment, sameStep) {
    find();
    page = 0;
    pinned = segment === undefined ? -1 : segment;
    if (pinned >= 0) page = Math.max(0, Math.floor(found.findIndex(([, i]) => i === pinned) / PAGE));
    draw();
    remember(sameStep);
    if (pinned >= 0) arrive();
  }

  function turn(by) {
    page += by;
    pinned = -1;
    draw();
    remember();
    byId("explorer-form").scrollIntoView({ block: "nearest" });
  }

  /** Save what is found: texts, and the scores of A and B as the page holds them. */
  function saveFound() {
    const [a, b] = [chosen("a"), chosen("b")];
    const both = [["A", a], ["B", b]];
    const names = both.map(([side, system]) => `${side}: ${facts.systems[system]}`);
    const reference = facts.references.length ? chosen("reference") : -1;
    const head = ["segment", "document", "domain", "source", "reference", ...names,
      ...facts.scores.flatMap((score) => both.map(([side]) => `${score.name} ${side}`))];
    const rows = found.map(([, i]) => {
      const [document_, source, references, outputs] = texts[i];
      const domain = facts.domain && facts.domain[i] >= 0 ? facts.domains[facts.domain[i]] : null;
      return [facts.segments[i], document_, domain, source, reference < 0 ? null : references[reference],
        outputs[a], outputs[b],
        ...facts.scores.flatMap((_, s) => both.map(([, system]) => value(s, system, i)))];
    });
    save("segments", delimited([head, ...rows]));
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
    const ranges = RANGES.filter(([kind]) => humans.length || !kind.startsWith("human"));
    options(ui.range, ranges.map((r) => r[1]), "either", ranges.map((r) => r[0]));
    for (const name of ["range", "low", "high"]) byId(`x-${name}-label`).hidden = !facts.scores.length;
    Object.assign(first, state());
    for (const name of ["a", "b", "score", "human", "sort", "domain", "reference", "range", "low", "high"]) {
      ui[name].addEventListener("change", () => changed());
    }
    let waiting = 0;
    let typing = false;
    ui.search.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => { changed(undefined, typing); typing = true; }, 150);
    });
    ui.search.addEventListener("change", () => { typing = false; });
    byId("explorer-form").addEventListener("submit", (event) => event.preventDefault());
    byId("x-back").addEventListener("click", () => turn(-1));
    byId("x-next").addEventListener("click", () => turn(1));
    byId("x-link").addEventListener("click", (event) => copy(linkTo(pinned), event.currentTarget));
    byId("x-csv").addEventListener("click", saveFound);
    byId("x-reset").addEventListener("click", () => { restore(""); remember(); });
    all("td[data-pair]").forEach((cell) => cell.addEventListener("click", () => {
      const [a, b] = cell.dataset.pair.split(" ");
      ui.a.value = a;
      ui.b.value = b;
      if (facts.scores.length) ui.sort.value = "gap";
      changed();
      byId("segments").scrollIntoView();
    }));
    byId("explorer-form").hidden = false;
    document.querySelector(".pager").hidden = false;
    if (!history.state) history.replaceState({ explorer: true }, "");
    restore(location.hash);
    if (location.hash.startsWith("#segments?")) arrive();
    root.dataset.ready = "yes";
  }

  async function start() {
    if (typeof DecompressionStream === "undefined") {
      list.textContent = "This browser can't unpack the segments; one of 2023 or newer can.";
      return;
    }
    performance.mark("unpacked");
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
