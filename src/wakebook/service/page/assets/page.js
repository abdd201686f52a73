// The page works without this. With it: keys, search as you type, and what others write appears.
"use strict";
(() => {
  const $ = (what, within = document) => within.querySelector(what);
  const all = (what, within = document) => [...within.querySelectorAll(what)];

  // --- what has changed is fetched anew: the same address, and of it the parts that are live
  let asked = 0;
  async function refresh(kinds) {
    const parts = all("[data-live]").filter(
      (one) => !kinds || one.dataset.live.split(" ").some((kind) => kinds.includes(kind)));
    if (!parts.length) return;
    const mine = ++asked;
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    if (mine !== asked) return;
    if (answer.status === 401) return gone("signed out: run wakebook page");
    if (!answer.ok) return;
    swap(await answer.text(), parts.map((one) => one.id));
  }

  function swap(text, ids, arrivals = true) {
    const fresh = new DOMParser().parseFromString(text, "text/html");
    for (const id of ids) {
      const old = document.getElementById(id), now = fresh.getElementById(id);
      if (!old || !now || old.outerHTML === now.outerHTML || busy(old)) continue;
      const known = new Set(all("[id]", old).map((one) => one.id));
      const picked = $(".picked", old)?.id;
      const open = all("details[open][id]", old).map((one) => one.id);
      const focus = old.contains(document.activeElement) && document.activeElement.getAttribute("href");
      const drawn = new Map(all("[data-plot][data-drawn]", old).map((one) => [one.dataset.plot, one]));
      all("[data-plot]", now).forEach((one) => drawn.has(one.dataset.plot) && one.replaceWith(drawn.get(one.dataset.plot)));
      old.replaceWith(now);
      open.forEach((one) => document.getElementById(one)?.setAttribute("open", ""));
      if (focus) all("a[href]", now).find((one) => one.getAttribute("href") === focus)?.focus({ preventScroll: true });
      if (known.size && arrivals) all(".thing[id]", now).forEach((one) => known.has(one.id) || one.classList.add("new"));
      if (picked) pick(document.getElementById(picked));
    }
    document.dispatchEvent(new CustomEvent("wakebook:swapped"));
  }

  // a person is writing there: it is not taken from them
  const busy = (part) => part.contains(document.activeElement) &&
    /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName);

  // --- one connection for all tabs: the one that holds the lock listens, and tells the others
  const state = $("#live"), tell = window.BroadcastChannel ? new BroadcastChannel("wakebook") : null;
  let source = null, away = false;
  function live() {
    document.body.classList.add("is-live");
    document.body.classList.remove("is-gone");
    if (state) state.textContent = "live";
    if (away) { away = false; refresh(null); }
  }
  function gone(why) {
    away = true;
    document.body.classList.remove("is-live");
    document.body.classList.add("is-gone");
    if (state) state.textContent = why;
  }
  function heard(kind, kinds) {
    if (kind === "gone") gone("the service is away");
    else live();
    if (kind === "changed") refresh(kinds);
  }
  function said(kind, kinds = []) {
    tell?.postMessage({ kind, kinds });
    heard(kind, kinds);
  }
  function listen() {
    source = new EventSource("/page/events");
    source.addEventListener("ready", () => said("ready"));
    source.addEventListener("changed", (event) => said("changed", JSON.parse(event.data).kinds));
    source.onerror = () => {
      said("gone");
      if (source && source.readyState === EventSource.CLOSED) { // refused: try again by ourselves
        source = null;
        setTimeout(() => held && !source && listen(), 2000);
      }
    };
  }
  let held = false, release = null;
  function hold() {
    if (!state || document.hidden || held || release) return;
    if (!navigator.locks) { held = true; listen(); return; }
    const stop = new AbortController();
    release = () => stop.abort();
    navigator.locks.request("wakebook", { signal: stop.signal }, () => new Promise((done) => {
      held = true;
      release = done;
      listen();
    })).catch(() => {});
  }
  function let_go() {
    source?.close();
    source = null;
    held = false;
    release?.();
    release = null;
  }
  if (tell) {
    tell.onmessage = ({ data }) => {
      if (data.kind === "who") held && source?.readyState === 1 && tell.postMessage({ kind: "ready", kinds: [] });
      else heard(data.kind, data.kinds);
    };
    tell.postMessage({ kind: "who" });
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) { let_go(); return; }
    refresh(null).catch(() => {});
    hold();
  });
  addEventListener("pagehide", let_go);
  addEventListener("pageshow", hold);
  hold();

  // --- search as you type: at once, and with the newest words again when the answer is there
  const box = $("#q"), found = () => document.getElementById("found");
  let asking = false, newer = false;
  async function find() {
    const form = box.form;
    const address = new URL(location.pathname === form.getAttribute("action") ? location.href : form.action);
    address.searchParams.set("q", box.value);
    address.searchParams.delete("more");
    const answer = await fetch(address);
    if (!answer.ok) return;
    swap(await answer.text(), ["found", "facets", "lead"], false);
    history.replaceState(null, "", address);
  }
  async function type() {
    newer = true;
    if (asking) return;
    asking = true;
    while (newer) { newer = false; await find().catch(() => {}); }
    asking = false;
  }
  if (box && found()) box.addEventListener("input", type);

  // --- keys
  const things = () => all(".thing[data-href], .thing[data-pick]");
  function pick(one) {
    all(".picked").forEach((other) => other.classList.remove("picked"));
    if (!one) return;
    one.classList.add("picked");
    one.scrollIntoView({ block: "nearest" });
    const link = $("a", one);
    if (link && document.activeElement?.tagName !== "INPUT") link.focus({ preventScroll: true });
    if (peek?.open) show(one);
  }
  function step(by) {
    const list = things(), at = list.indexOf($(".picked"));
    pick(list[Math.max(0, Math.min(list.length - 1, at + by))]);
  }

  // a look at what was said, beside the list
  let peek = null;
  async function show(one) {
    const address = one?.dataset.peek;
    if (!address) return;
    const answer = await fetch(address);
    if (!answer.ok) return;
    const part = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("peek");
    if (!part) return;
    if (!peek) {
      peek = document.createElement("dialog");
      peek.className = "peek";
      peek.setAttribute("aria-label", "What was said");
      document.body.append(peek);
    }
    peek.replaceChildren(part);
    if (!peek.open) peek.show();
    $("mark, .said-here", peek)?.scrollIntoView({ block: "center" });
  }

  // where one decides after the other, the first is picked; what is not known yet is asked for again
  if ($("[data-first]")) pick(things()[0]);
  (function again() {
    const soon = $("[data-again]");
    if (soon) setTimeout(() => refresh(null).catch(() => {}).then(again), 1000 * soon.dataset.again);
  })();

  let before = "";
  const views = () => Object.fromEntries(all("nav a[data-key]").map((one) => [one.dataset.key, one.href]));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key, writing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName);
    if (key === "Escape") {
      if (peek?.open) peek.close();
      else if (writing) { event.preventDefault(); event.target.blur(); } // else it empties the box
      else pick(null);
      return;
    }
    if (writing) {
      if (event.target === box && found() && (key === "ArrowDown" || key === "ArrowUp")) {
        event.preventDefault();
        step(key === "ArrowDown" ? 1 : -1);
      } else if (event.target === box && key === "Enter" && $(".picked")) {
        event.preventDefault();
        location.href = $(".picked").dataset.href;
      }
      return;
    }
    if (before === "g") {
      before = "";
      const to = views()[key];
      if (to) { event.preventDefault(); location.href = to; }
      return;
    }
    const picked = $(".picked");
    const acts = {
      "/": () => { box?.focus(); box?.select(); },
      j: () => step(1), k: () => step(-1),
      o: () => picked && show(picked), " ": () => picked && show(picked),
      Enter: () => picked && !event.target.closest("button, summary, a") && (location.href = picked.dataset.href),
      u: () => $(".said form button")?.click(),
      a: () => picked && $("[data-press=a]", picked)?.click(),
      r: () => picked && $("[data-press=r]", picked)?.click(),
      g: () => { before = "g"; setTimeout(() => { before = ""; }, 1200); },
      "?": () => { const keys = $("#keys"); keys?.open ? keys.close() : keys?.showModal(); },
    };
    if (!(key in acts) || (key === " " && !picked)) return;
    if (key !== "Enter") event.preventDefault();
    acts[key]();
  });
})();
