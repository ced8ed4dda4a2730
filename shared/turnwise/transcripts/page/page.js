"use strict";
// Search, keys and the line on top of a page that can be read without any of it.
document.addEventListener("DOMContentLoaded", () => {
  const at = (id) => document.getElementById(id);
  const main = document.querySelector("main");
  const messages = [...main.querySelectorAll("details.m")];
  const query = at("query");
  let pattern = null;
  let hits = [];
  let here = -1;

  function copyEnds() {
    for (const end of main.querySelectorAll(".task > .end")) {
      const summary = end.parentElement.firstElementChild;
      const state = summary.querySelector(".state");
      state.textContent = end.querySelector("b").textContent;
      state.classList.add(end.classList[1]);
      summary.append(end.querySelector(".totals").cloneNode(true));
    }
    const going = at("state").textContent;
    // A run that was retried has an end before each retry.
    const end = going ? null : [...main.querySelectorAll(".run-end")].at(-1);
    at("state").textContent = end ? end.querySelector("b").textContent : going || "no end on record";
    at("state").className = end ? end.classList[1] : "cut";
    at("totals").textContent = end ? end.querySelector(".totals").textContent : `${messages.length} messages`;
  }

  function reveal(element) {
    for (let one = element; one; one = one.parentElement.closest("details")) one.open = true;
  }

  // --- search ---

  // Only what is on the screen is painted: thousands of ranges would make every later change slow.
  const near = new Set();
  const screen = new IntersectionObserver(
    (changes) => {
      for (const { target, isIntersecting } of changes) near[isIntersecting ? "add" : "delete"](target);
      paint();
    },
    { rootMargin: "50% 0px" },
  );

  function paint() {
    if (!CSS.highlights) return;
    const found = new Highlight();
    for (const message of near) for (const range of ranges(message)) found.add(range);
    CSS.highlights.set("found", found);
  }

  function* ranges(message) {
    const walker = document.createTreeWalker(message, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      for (const match of node.data.matchAll(pattern)) {
        const range = new Range();
        range.setStart(node, match.index);
        range.setEnd(node, match.index + match[0].length);
        yield range;
      }
    }
  }

  function search() {
    for (const one of main.querySelectorAll(".hit, .has-hit, .here")) one.classList.remove("hit", "has-hit", "here");
    hits = [];
    here = -1;
    const words = query.value.trim().replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    const shown = at("rejected").checked ? messages : messages.filter((one) => !one.classList.contains("rejected"));
    screen.disconnect();
    near.clear();
    paint();
    if (words) {
      pattern = new RegExp(words, "giu");
      hits = shown.filter((message) => message.textContent.search(pattern) >= 0);
    }
    for (const message of hits) {
      screen.observe(message);
      message.classList.add("hit");
      for (let task = message.parentElement; task !== main; task = task.parentElement) task.classList.add("has-hit");
    }
    main.classList.toggle("only", Boolean(words) && at("only").checked);
    if (words && at("only").checked) for (const task of main.querySelectorAll(".task.has-hit")) task.open = true;
    count();
  }

  function count() {
    const place = here < 0 ? "" : `${(here + 1).toLocaleString("en")} of `;
    const found = hits.length.toLocaleString("en");
    at("count").textContent = query.value.trim() ? `${place}${found} ${hits.length === 1 ? "match" : "matches"}` : "";
    at("next").disabled = at("previous").disabled = !hits.length;
  }

  function go(step) {
    if (!hits.length) return;
    if (here >= 0) hits[here].classList.remove("here");
    here = here < 0 ? (step > 0 ? 0 : hits.length - 1) : (here + step + hits.length) % hits.length;
    reveal(hits[here]);
    hits[here].classList.add("here");
    hits[here].scrollIntoView({ block: "center" });
    count();
  }

  let soon = null;
  function searchNow() {
    clearTimeout(soon);
    soon = null;
    search();
  }
  query.addEventListener("input", () => {
    clearTimeout(soon);
    soon = setTimeout(searchNow, messages.length > 500 ? 150 : 0);
  });
  query.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      query.value = "";
      searchNow();
      query.blur();
    } else if (event.key === "Enter") {
      event.preventDefault();
      // A search that came later would take back the step.
      if (soon !== null) searchNow();
      go(event.shiftKey ? -1 : 1);
    }
  });
  at("tools").addEventListener("submit", (event) => event.preventDefault());
  at("next").addEventListener("click", () => go(1));
  at("previous").addEventListener("click", () => go(-1));
  at("only").addEventListener("change", search);
  at("rejected").addEventListener("change", () => {
    main.classList.toggle("no-rejected", !at("rejected").checked);
    search();
  });

  // --- folding, and keys ---

  function expand() {
    for (const one of main.querySelectorAll("details")) one.open = true;
  }

  function collapse() {
    for (const one of main.querySelectorAll("details.m, details .task")) one.open = false;
  }

  function move(step) {
    const lines = [...main.querySelectorAll("summary")].filter((one) => one.checkVisibility());
    const now = lines.indexOf(document.activeElement);
    const line = lines[now < 0 ? 0 : Math.min(Math.max(now + step, 0), lines.length - 1)];
    if (line) line.focus();
  }

  at("expand").addEventListener("click", expand);
  at("collapse").addEventListener("click", collapse);
  const keys = { "/": () => query.focus(), e: expand, c: collapse, j: () => move(1), k: () => move(-1) };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target === query) return;
    if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  const follow = () => {
    const target = /^#m\d+$/.test(location.hash) && at(location.hash.slice(1));
    if (target) {
      reveal(target);
      target.scrollIntoView({ block: "center" });
    }
  };
  addEventListener("hashchange", follow);

  copyEnds();
  count();
  at("tools").hidden = false;
  follow();
});
