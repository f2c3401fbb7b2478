  /* The contents: they stay, mark the section in view, and are a menu on a phone. */
  root.classList.add("js");
  const bar = document.querySelector("nav");
  const menu = byId("menu");
  const contents = byId("contents");
  const links = all("a", contents);
  const parts = links.map((link) => byId(link.hash.slice(1)));
  menu.hidden = false;
  const open = (yes) => {
    menu.setAttribute("aria-expanded", String(yes));
    bar.classList.toggle("open", yes);
  };
  menu.addEventListener("click", () => open(menu.getAttribute("aria-expanded") !== "true"));
  contents.addEventListener("click", (event) => { if (event.target.closest("a")) open(false); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && bar.classList.contains("open")) { open(false); menu.focus(); }
  });
  document.addEventListener("pointerdown", (event) => { if (!bar.contains(event.target)) open(false); });

  let current = null;
  function inView() {
    const edge = bar.offsetHeight + window.innerHeight / 4;
    const end = window.scrollY + window.innerHeight >= root.scrollHeight - 2;
    let k = end ? parts.length - 1 : 0;
    if (!end) parts.forEach((part, i) => { if (part.getBoundingClientRect().top <= edge) k = i; });
    const link = links[k];
    if (link === current) return;
    if (current) current.removeAttribute("aria-current");
    current = link;
    link.setAttribute("aria-current", "true");
    menu.textContent = `Contents: ${link.textContent}`;
    const { offsetLeft: left, offsetWidth: width } = link;
    if (contents.scrollWidth > contents.clientWidth) contents.scrollLeft = left - (contents.clientWidth - width) / 2;
  }
  let asked = false;
  const later = () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; inView(); });
  };
  window.addEventListener("scroll", later, { passive: true });
  const measured = () => {
    root.style.setProperty("--bar", `${bar.classList.contains("open") ? menu.offsetHeight : bar.offsetHeight}px`);
    later();
  };
  new ResizeObserver(measured).observe(bar);
  window.addEventListener("resize", measured);
  inView();

  /* A part that is closed opens for whoever is sent into it. */
  function opened(hash) {
    const target = hash.length > 1 && !hash.includes("?") ? byId(decodeURIComponent(hash.slice(1))) : null;
    const closed = target && target.closest("details:not([open])");
    if (closed) { closed.open = true; target.scrollIntoView(); }
  }
  window.addEventListener("hashchange", () => { try { opened(location.hash); } catch { /* no name of ours */ } });
