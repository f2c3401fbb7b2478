  /* The address holds what is chosen, by names, so that a link shows the same to somebody else. */
  const NAMED = { a: "a", b: "b", score: "score", human: "human", domain: "domain", reference: "reference" };
  const PLAIN = { sort: "sort", search: "search", range: "range", low: "from", high: "to" };
  const first = {}; // what is chosen before anybody chooses

  function state() {
    const now = {};
    for (const name of Object.keys(NAMED)) {
      const option = ui[name].selectedOptions[0];
      now[name] = option ? option.textContent : "";
    }
    for (const [name, key] of Object.entries(PLAIN)) now[key] = ui[name].value;
    return now;
  }
  /** The address of what is chosen now, and of one segment in it, if one is given. */
  function address(segment) {
    const chosenNow = new URLSearchParams();
    const now = state();
    for (const [key, text] of Object.entries(now)) if (text !== first[key]) chosenNow.set(key, text);
    if (segment !== undefined && segment >= 0) chosenNow.set("segment", facts.segments[segment]);
    else if (page) chosenNow.set("page", String(page + 1));
    const text = chosenNow.toString();
    return text ? `#segments?${text}` : "#segments";
  }
  const linkTo = (segment) => location.href.split("#")[0] + address(segment);

  /** Write the address; a step that can be taken back, unless it belongs to the one before. */
  function remember(sameStep) {
    const text = address(pinned);
    if (text === location.hash || (text === "#segments" && !location.hash.includes("?"))) return;
    if (sameStep) history.replaceState({ explorer: true }, "", text);
    else history.pushState({ explorer: true }, "", text);
  }

  /** Choose what an address says; names that this page does not have are left as they were first. */
  function restore(hash) {
    const asked_ = new URLSearchParams(hash.includes("?") ? hash.slice(hash.indexOf("?") + 1) : "");
    const want = (key) => (asked_.has(key) ? asked_.get(key) : first[key]);
    for (const name of Object.keys(NAMED)) {
      const named = [...ui[name].options].filter((option) => option.textContent === want(name));
      const option = named.find((one) => Number(one.value) >= 0) || named[0];
      const start = [...ui[name].options].find((one) => one.textContent === first[name]);
      if (want(name) === first[name] ? start : option || start) {
        ui[name].value = (want(name) === first[name] ? start : option || start).value;
      }
    }
    for (const [name, key] of Object.entries(PLAIN)) {
      ui[name].value = want(key);
      if (ui[name].tagName === "SELECT" && ui[name].selectedIndex < 0) ui[name].value = first[key];
    }
    const segment = asked_.get("segment");
    pinned = segment === null ? -1 : facts.segments.indexOf(segment);
    find();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    page = Math.min(pages, Math.max(1, Math.floor(Number(asked_.get("page"))) || 1)) - 1;
    if (pinned >= 0) {
      let k = found.findIndex(([, i]) => i === pinned);
      if (k < 0) k = found.unshift([Infinity, pinned]) && 0; // a filter of the link leaves it out
      page = Math.floor(k / PAGE);
    }
    draw();
    if (segment !== null && pinned < 0) byId("x-count").textContent += "; the segment of the link is not in this page";
  }
  /** Bring what a link leads to into view. */
  function arrive() {
    const target = pinned >= 0 ? list.querySelector("article.pinned") : null;
    (target || byId("segments")).scrollIntoView({ behavior: "instant", block: "start" });
    if (target) target.focus({ preventScroll: true });
  }
  window.addEventListener("popstate", (event) => {
    const link = location.hash.startsWith("#segments?");
    if (!link && !(event.state && event.state.explorer)) return; // a link of the contents
    restore(location.hash);
    if (link) arrive();
  });
