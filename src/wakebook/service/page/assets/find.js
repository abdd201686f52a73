// Search in an export. The words are lists in files of their own, read when someone begins to type.
"use strict";
(() => {
  const MOST = 60, box = document.getElementById("q"), list = document.getElementById("found");
  const told = document.getElementById("told"), less = told.textContent;
  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const files = document.getElementById("words").dataset.files.split(" ").filter(Boolean);
  const known = []; // [sign, words, facts, file, words as they are compared]
  window.wakebook = (rows) => rows.forEach((row) => known.push([...row, plain(row[1])]));

  let loaded = null;
  const read = (file) => new Promise((done) => {
    const script = document.createElement("script");
    script.onload = script.onerror = done;
    script.src = file;
    document.head.append(script);
  });
  const load = async () => { for (const file of files) await read(file); };

  const make = (name, text, style) => {
    const made = document.createElement(name);
    made.textContent = text;
    made.className = style;
    return made;
  };
  function row([sign, words, facts, file], wanted) {
    const line = make("li", "", "thing"), inner = document.createElement("div");
    const link = document.createElement("a"), text = make("p", "", "words"), low = words.toLowerCase();
    const at = Math.max(0, low.indexOf(wanted[0]) - 90);
    link.href = file;
    link.textContent = (at ? "…" : "") + words.slice(at, at + 320) + (at + 320 < words.length ? "…" : "");
    text.dir = "auto";
    text.append(link);
    inner.append(text, make("p", facts, "facts"));
    line.append(make("span", sign, "glyph"), inner);
    return line;
  }

  async function find() {
    const wanted = plain(box.value).split(/\s+/).filter(Boolean);
    if (!wanted.length) { list.replaceChildren(); told.textContent = less; return; }
    if (!loaded) { told.textContent = "Reading the words …"; loaded = load(); }
    await loaded;
    if (plain(box.value).split(/\s+/).filter(Boolean).join() !== wanted.join()) return;
    const hits = known.filter((one) => wanted.every((word) => one[4].includes(word)));
    list.replaceChildren(...hits.slice(0, MOST).map((one) => row(one, wanted)));
    const more = hits.length > MOST ? `, the first ${MOST} of them here` : "";
    told.textContent = (hits.length ? `${hits.length.toLocaleString("en")} found${more}. ` : "Nothing fits. ") + less;
    location.replace("#" + encodeURIComponent(box.value)); // so that one can come back to it
  }
  box.addEventListener("input", () => find());
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && document.activeElement !== box) { event.preventDefault(); box.focus(); }
  });
  box.value = decodeURIComponent(location.hash.slice(1));
  box.focus();
  find();
})();
