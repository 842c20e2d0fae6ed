// Keys, the palette and live changes. Without this script every view and form works all the same.
"use strict";
const $ = (selector, root = document) => root.querySelector(selector);
const all = (selector, root = document) => [...root.querySelectorAll(selector)];
const typing = () => /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? "");
// --- the palette: views, and what is typed as a question
const palette = $("#palette");
const field = $("input", palette);
function narrow() {
  const words = field.value.trim();
  for (const link of all("a", palette)) {
    const prefix = link.dataset.with;
    if (prefix) {
      link.parentElement.hidden = !words;
      link.href = prefix + encodeURIComponent(words);
      $("span", link).textContent = words;
    } else link.parentElement.hidden = !link.textContent.toLowerCase().includes(words.toLowerCase());
  }
}
function openPalette() { field.value = ""; narrow(); palette.showModal(); field.focus(); }
for (const button of all("[data-palette]")) { button.hidden = false; button.addEventListener("click", openPalette); }
field.addEventListener("input", narrow);
palette.addEventListener("click", event => { if (event.target === palette) palette.close(); });
palette.addEventListener("keydown", event => {
  const links = all("li:not([hidden]) a", palette), at = links.indexOf(document.activeElement);
  if (event.key === "Enter" && at < 0) links[0]?.click();
  else if (event.key === "ArrowDown") links[Math.min(at + 1, links.length - 1)]?.focus();
  else if (event.key === "ArrowUp") (at > 0 ? links[at - 1] : field).focus();
  else return;
  event.preventDefault();
});
// --- keys: / to the field, Esc out of it, j and k through rows, those of buttons, Ctrl K the palette
function step(by) {
  const rows = all("[data-row]");
  if (!rows.length) return;
  const at = rows.findIndex(row => row.classList.contains("at"));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at < 0 ? 0 : at + by))];
  rows.forEach(row => row.classList.remove("at"));
  next.classList.add("at");
  next.scrollIntoView({ block: "nearest" });
  $("a, input", next)?.focus({ preventScroll: true });
}
document.addEventListener("keydown", event => {
  const { key, target } = event, held = event.ctrlKey || event.metaKey;
  if (held && key === "k") { event.preventDefault(); openPalette(); }
  if (palette.open || event.altKey || event.isComposing) return; // Enter chooses a Chinese word then
  if (typing() && target.type !== "checkbox") {
    const sends = key === "Enter" && target.tagName === "TEXTAREA" && target.form && (held || target.form.method === "get" && !event.shiftKey);
    if (sends || key === "Escape") event.preventDefault();
    if (sends) target.form.requestSubmit();
    else if (key === "Escape") target.blur();
  } else if (held) return;
  else if (key === "/") { event.preventDefault(); $("[data-focus]")?.focus(); }
  else if (key === "?") { event.preventDefault(); openPalette(); }
  else if (key === "j") step(1);
  else if (key === "k") step(-1);
  else {
    const does = `[data-key="${CSS.escape(key)}"]`;
    ($(`.at ${does}`) ?? all(does).find(each => !each.closest("[data-row]")))?.click();
  }
});
document.addEventListener("toggle", ({ target }) => { if (target.open) $("form textarea", target)?.focus(); }, true);
for (const box of all("[data-check-all]"))
  box.addEventListener("change", () => all(`input[name="${box.dataset.checkAll}"]`).forEach(each => { each.checked = box.checked; }));
// --- live: another program or person changed the book
let edited = false;
document.addEventListener("input", event => { if (event.target.closest("form[method=post]")) edited = true; });
function refresh() {
  if (edited || palette.open || $("details[open] form[method=post]")) { $("#stale").hidden = false; return; }
  htmx.ajax("GET", location.pathname + location.search, { target: "#main", select: "#main", swap: "outerMorph" });
}
let stream, stamp = document.hidden ? "" : null; // "": what the page shows may be old
function listen() {
  stream?.close();
  if (document.hidden) return; // of a server a browser opens six connections, and each stream is one
  stream = new EventSource("/live");
  stream.addEventListener("stamp", ({ data }) => {
    if (stamp !== null && stamp !== data) refresh();
    stamp = data;
  });
}
if (window.EventSource && $("nav a") && !location.pathname.startsWith("/act/")) {
  document.addEventListener("visibilitychange", listen);
  listen();
}
