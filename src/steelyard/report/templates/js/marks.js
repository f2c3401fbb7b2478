  /* What a mark, a heading or a cell stands for: on hover, on touch, and by the keyboard. */
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
  const meant = (target) => target.getAttribute("data-tip") || verdict(target);
  const speaking = (target) => (target.closest
    ? target.closest("[data-tip]") || target.closest(".matrix td:not(.s)") : null);

  function place(x, y, above) {
    const left = Math.min(x + 14, window.innerWidth - tip.offsetWidth - 8);
    const below = y + 18 + tip.offsetHeight < window.innerHeight;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${below ? y + 16 : above - tip.offsetHeight - 10}px`;
  }
  let pointer = [-1, -1];
  function showTip(event) {
    const [x, y] = pointer;
    pointer = [event.clientX, event.clientY];
    // The page moves below a pointer that rests: that is the keyboard's doing.
    if (event.type === "pointerover" && chosenMark && x === event.clientX && y === event.clientY) return;
    const target = speaking(event.target);
    if (!target && chosenMark) return;
    tip.hidden = !target;
    if (!target) return;
    tip.textContent = meant(target);
    place(event.clientX, event.clientY, event.clientY);
  }
  document.addEventListener("pointerover", showTip);
  document.addEventListener("pointerdown", showTip);
  document.addEventListener("pointermove", (event) => { pointer = [event.clientX, event.clientY]; }, { passive: true });

  /* One stop per chart or matrix; arrow keys go from mark to mark. */
  let chosenMark = null;
  const last = new WeakMap();
  function leave() {
    if (chosenMark) chosenMark.classList.remove("active");
    chosenMark = null;
    tip.hidden = true;
  }
  function choose(mark, more) {
    leave();
    chosenMark = mark;
    mark.classList.add("active");
    mark.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    tip.textContent = meant(mark);
    tip.hidden = false;
    beside(mark);
    say(meant(mark) + (more || ""));
  }
  function beside(mark) {
    const box = mark.getBoundingClientRect();
    place(box.left + Math.min(box.width, 40) / 2, box.bottom - 8, box.top);
  }
  document.addEventListener("scroll", () => { if (chosenMark) beside(chosenMark); }, { capture: true, passive: true });
  const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, PageDown: 10, PageUp: -10, Home: -Infinity, End: Infinity };
  function stepChart(plot, key) {
    const marks = all("[data-tip]", plot);
    if (!marks.length) return null;
    const before = last.has(plot) ? last.get(plot) : -1;
    const next = Math.max(0, Math.min(marks.length - 1, before + STEPS[key]));
    last.set(plot, next);
    return marks[next];
  }
  function stepMatrix(region, key) {
    const rows = [...region.querySelector(".matrix").tBodies[0].rows];
    let [i, j] = last.get(region) || [0, 1];
    const [down, right] = { ArrowDown: [1, 0], ArrowUp: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key] || [0, 0];
    const within = (k) => Math.max(0, Math.min(rows.length - 1, k));
    [i, j] = [within(i + down), within(j + right)];
    if (i === j) [i, j] = [within(i + down), within(j + right)];
    if (i === j) return null;
    last.set(region, [i, j]);
    return rows[i].cells[j + 1];
  }
  document.addEventListener("focusin", (event) => {
    leave();
    const target = event.target;
    if (!target.matches(":focus-visible")) return;
    if (target.matches(".plot")) {
      const marks = all("[data-tip]", target);
      const mark = marks[last.get(target) || 0];
      if (!mark) return;
      last.set(target, marks.indexOf(mark));
      choose(mark, `. Mark ${marks.indexOf(mark) + 1} of ${marks.length}, arrow keys for the others.`);
    } else if (target.closest("th[data-tip]")) {
      const heading = target.closest("th[data-tip]");
      const box = heading.getBoundingClientRect();
      tip.textContent = meant(heading);
      tip.hidden = false;
      place(box.left, box.bottom - 12, box.top);
      say(meant(heading));
    }
  });
  document.addEventListener("focusout", leave);
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
    const target = event.target;
    if (!target.matches || event.ctrlKey || event.metaKey || event.altKey) return;
    const matrix = target.matches(".scroll") && target.querySelector(".matrix");
    if (matrix && chosenMark && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      chosenMark.click();
    }
    if (!(event.key in STEPS) || !(matrix || target.matches(".plot"))) return;
    const mark = matrix ? stepMatrix(target, event.key) : stepChart(target, event.key);
    if (!mark) return;
    event.preventDefault();
    choose(mark);
  });

  /* All values of a chart as a list, made when somebody asks for it. */
  all("figure.chart").forEach((chart) => {
    const count = all("[data-tip]", chart).length;
    if (!count) return;
    const values = make("details", { class: "values" }, make("summary", {}, `Values of this chart (${count})`));
    values.addEventListener("toggle", () => {
      if (!values.open || values.children.length > 1) return;
      values.append(make("ul", { tabindex: "0", "aria-label": "Values of this chart" }, ...all("[data-tip]", chart).map((mark) => make("li", {}, meant(mark)))));
    });
    chart.append(values);
  });
