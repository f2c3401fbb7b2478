  /* What all parts share: elements, words to a screen reader, files to save. */
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const all = (selector, within) => [...(within || document).querySelectorAll(selector)];

  /** Make an element; text goes in as text, never as markup. */
  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children.filter((child) => child !== null && child !== undefined));
    return element;
  }

  /** Tell a screen reader; what is seen does not change. */
  function say(text) {
    byId("said").textContent = text;
  }

  /* A word that a spreadsheet would run as a formula gets an apostrophe, as in all our CSV files. */
  const FORMULA = /^'*(?:[\s\x1c-\x1f\x85]*[=+@-]|[\t\r])/;
  const inert = (text) => (FORMULA.test(text) ? `'${text}` : text);
  /** Write rows of words and numbers as CSV; null and NaN are empty. */
  function delimited(rows) {
    const cell = (value) => {
      if (value === null || value === undefined || Number.isNaN(value)) return "";
      const text = typeof value === "string" ? inert(value) : String(value);
      return /["\r\n,]|^ | $/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    return rows.map((row) => `${row.map(cell).join(",")}\n`).join("");
  }
  function save(name, text) {
    const plain = name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
    const address = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
    const link = make("a", { href: address, download: `${plain || "table"}.csv` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  }

  /** Copy a text; where the browser forbids it, show it, chosen, to be copied by hand. */
  async function copy(text, button) {
    const before = button.dataset.before || button.textContent;
    button.dataset.before = before;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
      say("Link copied");
      setTimeout(() => { button.textContent = before; }, 2000);
    } catch {
      const field = make("input", { type: "text", readonly: "", class: "address", "aria-label": "Link" });
      field.value = text;
      button.after(field);
      field.focus();
      field.select();
      field.addEventListener("blur", () => field.remove());
    }
  }
