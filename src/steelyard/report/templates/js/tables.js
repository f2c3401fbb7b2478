  /* Tables: headings sort, long ones are shown in parts, all can be saved, wide ones fade. */
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
      const button = make("button", { type: "button" }, make("span", {}, ...cell.childNodes));
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
      const more = make("button", { type: "button", class: "more" }, `Show all ${rows.length} rows`);
      more.addEventListener("click", () => {
        state.all = true;
        more.remove();
        draw();
      });
      table.parentElement.after(more);
      draw();
    }
  }
  all("main table:not(.matrix, .strips)").forEach((table) => {
    if (table.tHead && table.tBodies.length && table.tBodies[0].rows.length > 1) sortable(table);
  });

  all(".download").forEach((button) => {
    const held = button.closest(".held");
    const data = held && held.querySelector("script.csv");
    if (!data) return;
    button.hidden = false;
    const label = held.querySelector("[aria-label]").getAttribute("aria-label");
    button.addEventListener("click", () => save(label, JSON.parse(data.textContent)));
  });

  /* What does not fit fades at the side where it goes on. */
  function hint(scroll) {
    const over = scroll.scrollWidth - scroll.clientWidth;
    const wide = over > 2;
    scroll.classList.toggle("more-left", wide && scroll.scrollLeft > 2);
    scroll.classList.toggle("more-right", wide && scroll.scrollLeft < over - 2);
    if (scroll.matches(".plot") || scroll.querySelector(".matrix")) return;
    // What does not scroll is no stop for the keyboard.
    if (wide || scroll.scrollHeight > scroll.clientHeight + 2) scroll.tabIndex = 0;
    else scroll.removeAttribute("tabindex");
  }
  const resized = new ResizeObserver((entries) => {
    for (const entry of entries) hint(entry.target.closest(".scroll"));
  });
  function watch(scroll) {
    scroll.addEventListener("scroll", () => hint(scroll), { passive: true });
    resized.observe(scroll);
    if (scroll.firstElementChild) resized.observe(scroll.firstElementChild);
  }
  all("main .scroll").forEach(watch);
