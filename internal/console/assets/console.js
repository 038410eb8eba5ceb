// The script of the console. Everything works without it; it saves keystrokes.

// A link that signs in has its token in the fragment, which browsers do not send.
const start = document.querySelector("form[data-start]");
if (start && location.hash.length > 1) {
  start.elements.token.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  start.requestSubmit();
}

// After a form was refused, the focus is in the field that is wrong.
document.querySelector("[aria-invalid=true]")?.focus();

// Times are shown in the zone of the browser.
const sameDay = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const sameYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const otherYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
function showTimes(root) {
  const now = new Date();
  for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
    const at = new Date(time.dateTime);
    const format = at.toDateString() === now.toDateString() ? sameDay : at.getFullYear() === now.getFullYear() ? sameYear : otherYear;
    time.title = at.toISOString();
    time.textContent = format.format(at);
    time.dataset.local = "";
  }
}
showTimes(document);
document.addEventListener("htmx:after:swap", () => showTimes(document));

// A thin bar says that something is being loaded, if it takes long.
const progress = document.getElementById("progress");
let pending = 0;
let slow;
document.addEventListener("htmx:before:request", () => {
  pending++;
  slow ??= setTimeout(() => { if (progress) progress.hidden = false; }, 150);
});
document.addEventListener("htmx:finally:request", () => {
  if (--pending > 0) return;
  clearTimeout(slow);
  slow = undefined;
  if (progress) progress.hidden = true;
});

// Enter in a field that finds opens the first row that it found.
let waiting = null;
function openFirst(field) {
  const link = document.querySelector(field.dataset.openFirst + " a.open");
  if (link) location.assign(link.href); // not by htmx: a later answer may replace the row
}
document.addEventListener("input", (e) => {
  if (e.target.dataset?.openFirst) e.target.dataset.stale = "";
});
document.addEventListener("htmx:after:swap", () => {
  for (const field of document.querySelectorAll("[data-stale]")) delete field.dataset.stale;
  if (waiting) openFirst(waiting);
  waiting = null;
});
function enter(e, field) {
  if (!field?.dataset.openFirst) return;
  e.preventDefault();
  if ("stale" in field.dataset) waiting = field;
  else openFirst(field);
}
document.addEventListener("keydown", (e) => { if (e.key === "Enter") enter(e, e.target); });
document.addEventListener("submit", (e) => { if (document.activeElement?.form === e.target) enter(e, document.activeElement); });

// A click copies a code.
document.addEventListener("click", async (e) => {
  const code = e.target.closest?.("[data-copy]");
  if (!code || !navigator.clipboard) return;
  await navigator.clipboard.writeText(code.dataset.copy || code.textContent);
  say(document.documentElement.dataset.copied);
});

// say shows a message for a moment.
export function say(text) {
  const toast = document.createElement("p");
  toast.className = "toast";
  toast.textContent = text;
  document.getElementById("toasts")?.replaceChildren(toast);
  setTimeout(() => toast.remove(), 4000);
}
setTimeout(() => document.querySelector("#toasts .toast")?.remove(), 8000);

// Keys: single letters never write, they only lead somewhere.
let going = 0;
document.addEventListener("keydown", (e) => {
  if (e.target.closest("input, textarea, select, [contenteditable]") || e.metaKey || e.ctrlKey || e.altKey) return;
  if (e.key === "/") {
    const field = document.querySelector("input[type=search]");
    if (field) { e.preventDefault(); field.focus(); field.select(); }
  } else if (e.key === "g") {
    going = Date.now();
  } else if (Date.now() - going < 1500) {
    going = 0;
    document.querySelector(`.nav a[data-go="${CSS.escape(e.key)}"]`)?.click();
  }
});

// Names of languages are those of the browser.
const names = new Intl.DisplayNames(document.documentElement.lang, { type: "language" });
function nameLocales(root) {
  for (const e of root.querySelectorAll("[data-locale]:empty")) {
    try { e.textContent = names.of(e.dataset.locale); } catch { /* the code says it */ }
  }
}
nameLocales(document);

// Menus close when something else is used.
document.addEventListener("click", (e) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(e.target)) menu.open = false;
});

// Lists: J and K move, O opens, X selects; the panel takes and gives back the focus.
const rows = () => [...document.querySelectorAll("[data-list] .row:has(a.open)")];
let at = -1;
function moveTo(index) {
  const all = rows();
  if (!all.length) return;
  at = Math.max(0, Math.min(all.length - 1, index));
  all[at].querySelector("a.open").focus();
  all[at].scrollIntoView({ block: "nearest" });
}
function select(box, on, isRange) {
  const boxes = [...document.querySelectorAll("[data-list] input[name=id]")];
  const from = isRange ? boxes.findIndex((b) => b.dataset.last !== undefined) : -1;
  const to = boxes.indexOf(box);
  for (const b of from < 0 ? [box] : boxes.slice(Math.min(from, to), Math.max(from, to) + 1)) b.checked = on;
  for (const b of boxes) delete b.dataset.last;
  box.dataset.last = "";
  countSelected();
}
function countSelected() {
  const bar = document.querySelector("[data-bulk]");
  if (!bar) return;
  const n = document.querySelectorAll("[data-list] input[name=id]:checked").length;
  bar.classList.toggle("waiting", n === 0);
  bar.querySelector("[data-count]").textContent = n ? String(n) : "";
}
countSelected();
document.addEventListener("htmx:after:swap", () => { countSelected(); nameLocales(document); });
document.addEventListener("change", (e) => {
  if (e.target.matches?.("[data-all]")) {
    for (const b of document.querySelectorAll("[data-list] input[name=id]")) b.checked = e.target.checked;
  }
  countSelected();
});
document.addEventListener("keydown", (e) => {
  if (e.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]") || e.metaKey || e.ctrlKey || e.altKey || document.querySelector("dialog[open]")) return;
  const all = rows();
  const here = all.findIndex((r) => r.contains(document.activeElement));
  if (here >= 0) at = here;
  switch (e.key) {
    case "j": case "ArrowDown": if (all.length) { e.preventDefault(); moveTo(at + 1); } break;
    case "k": case "ArrowUp": if (all.length) { e.preventDefault(); moveTo(at - 1); } break;
    case "o": all[at]?.querySelector("a.open").click(); break;
    case "x": case "X": {
      const box = all[at]?.querySelector("input[name=id]");
      if (box) select(box, !box.checked, e.key === "X");
      break;
    }
    case "e": document.querySelector("#panel input[name], #panel textarea[name]")?.focus(); break;
    case "c": [...document.querySelectorAll(".bar a.go")].at(-1)?.click(); break;
    case "l": { const menu = document.querySelector("details.menu[data-key=l]"); if (menu) { menu.open = true; menu.querySelector(".items a")?.focus(); } break; }
    case "v": document.querySelector(".bar .seg a:not([aria-current])")?.click(); break;
    case "[": case "]": {
      const twisty = all[at]?.querySelector("a.tw");
      if (twisty && (twisty.getAttribute("aria-expanded") === "true") === (e.key === "[")) twisty.click();
      break;
    }
    default: return;
  }
});

// The panel.
let opener = null;
document.addEventListener("click", (e) => { const link = e.target.closest?.("a[data-page]"); if (link) opener = link.id; });
document.addEventListener("htmx:after:swap", () => {
  const heading = document.querySelector("#panel #pt");
  if (!heading || !opener) return;
  heading.focus();
  for (const row of document.querySelectorAll(".pages .row[aria-selected]")) row.removeAttribute("aria-selected");
  document.getElementById(opener)?.closest("tr").setAttribute("aria-selected", "true");
});
function closePanel() {
  const link = document.querySelector("#panel [data-close]");
  if (!link) return;
  if (isDirty() && link.dataset.asked === undefined) {
    link.dataset.asked = "";
    say(link.dataset.ask);
    return;
  }
  const back = opener ?? "o" + new URL(location.href).searchParams.get("page");
  document.getElementById("panel").replaceChildren();
  history.pushState(null, "", link.href);
  for (const row of document.querySelectorAll(".pages .row[aria-selected]")) row.removeAttribute("aria-selected");
  document.getElementById(back)?.focus();
  opener = null;
}
document.addEventListener("click", (e) => {
  if (!e.target.closest?.("#panel [data-close]") || e.metaKey || e.ctrlKey) return;
  e.preventDefault();
  closePanel();
});

// Forms: Control S saves, Escape closes, unsaved values are not lost by accident.
const isDirty = () => [...document.querySelectorAll("form[data-guard] [name]")].some((f) =>
  f.type !== "hidden" && f.tagName !== "BUTTON" && (f.tagName === "SELECT" ? ![...f.options].find((o) => o.defaultSelected)?.selected : f.value !== f.defaultValue));
document.addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && e.key === "s") {
    const button = document.querySelector("form[data-guard] button[value=save]");
    if (button) { e.preventDefault(); button.click(); }
  } else if (e.key === "Escape") {
    const menu = document.querySelector("details.menu[open]");
    if (menu) { menu.open = false; menu.querySelector("summary").focus(); } else closePanel();
  } else if (e.altKey && (e.key === "ArrowLeft" || e.key === "ArrowRight")) {
    const tabs = [...document.querySelectorAll(".tabs a")];
    const next = tabs[tabs.findIndex((t) => t.hasAttribute("aria-current")) + (e.key === "ArrowRight" ? 1 : -1)];
    if (next) { e.preventDefault(); next.click(); }
  }
});

// Override makes an inherited field one of the locale's own, in place.
document.addEventListener("click", (e) => {
  const link = e.target.closest?.("[data-override]");
  if (!link) return;
  e.preventDefault();
  const field = document.getElementById("f-" + link.dataset.override);
  field.name = link.dataset.override;
  field.readOnly = false;
  field.disabled = false;
  const box = field.closest(".f");
  box.classList.replace("in-h", "ov");
  link.remove();
  field.focus();
  field.select?.();
});

// Review: what is selected has a button of its own, and the guard wants its number typed.
function readyReview() {
  const form = document.getElementById("publish");
  if (!form) return;
  const n = document.querySelectorAll('input[form="publish"]:checked').length;
  const selected = form.querySelector("[data-selected]");
  if (selected) {
    selected.classList.toggle("waiting", n === 0);
    if (n) selected.textContent = n === 1 ? selected.dataset.one : selected.dataset.many.replace(/\d+ #|#/, String(n));
  }
  const typed = form.querySelector("[data-needs]");
  const main = form.querySelector("[data-main]");
  if (typed && main) main.disabled = typed.value.replaceAll(",", "").trim() !== typed.dataset.needs;
}
readyReview();
document.addEventListener("change", readyReview);
document.addEventListener("input", readyReview);

// Times are typed in the zone of the browser, and sent in UTC.
for (const field of document.querySelectorAll("[data-utc]")) {
  const utc = document.getElementById(field.dataset.utc);
  const zone = field.closest(".f").querySelector("[data-zone]");
  if (zone) zone.textContent = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const convert = () => { const at = new Date(field.value); utc.value = isNaN(at) ? "" : at.toISOString(); };
  field.addEventListener("input", convert);
  convert();
}

// A link for others is copied.
document.addEventListener("click", async (e) => {
  const link = e.target.closest?.("a[data-copy-link]");
  if (!link || !navigator.clipboard || e.metaKey || e.ctrlKey) return;
  e.preventDefault();
  await navigator.clipboard.writeText(link.href);
  say(document.documentElement.dataset.copied);
});

// Live: what others do shows up while the screen is looked at. A review is not replaced
// under the eyes of whoever reads it; it says that it is old.
let live = document.querySelector("[data-live]");
let stream = null;
let refreshing;
async function refresh() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const focused = document.activeElement?.id;
  for (const id of ["live", "nav"]) {
    const fresh = page.getElementById(id);
    if (fresh) document.getElementById(id)?.replaceWith(document.adoptNode(fresh));
  }
  if (focused) document.getElementById(focused)?.focus();
  live = document.querySelector("[data-live]");
  showTimes(document);
}
function hear() {
  if (live.dataset.live === "notice") {
    document.getElementById("since").hidden = false;
    document.getElementById("unmoved")?.remove();
    return;
  }
  clearTimeout(refreshing);
  refreshing = setTimeout(refresh, 150);
}
function listen() {
  if (document.visibilityState === "hidden") {
    stream?.close(); // a browser has few connections to a server
    stream = null;
  } else if (!stream) {
    const { site, types, since } = live.dataset; // since the screen was made, so that nothing is missed
    stream = new EventSource(`/console/live?${new URLSearchParams({ site, types, since })}`);
    for (const type of types.split(",")) stream.addEventListener(type, hear);
  }
}
if (live) {
  listen();
  document.addEventListener("visibilitychange", listen);
  addEventListener("pagehide", () => stream?.close());
  addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); }); // it missed what happened
}

// What is shown once is not asked for again by a reload.
const once = document.querySelector("[data-address]");
if (once) history.replaceState(null, "", once.dataset.address);

// The palette, and the list of keys. While a dialog is open it has all keys.
const palette = document.getElementById("palette");
const paletteField = document.getElementById("palette-find");
function openPalette() {
  if (!palette || palette.open) return;
  palette.showModal();
  paletteField.value = "";
  paletteField.focus();
  htmx.trigger(paletteField, "search");
}
document.addEventListener("click", (e) => {
  if (e.target === palette) palette.close();
  if (!e.target.closest?.("[data-palette]") || e.metaKey || e.ctrlKey) return;
  e.preventDefault();
  openPalette();
});
async function openKeyboard() {
  const dialog = document.getElementById("keyboard");
  if (!dialog || dialog.open) return;
  const answer = await fetch(dialog.dataset.addressOf, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  dialog.replaceChildren(document.adoptNode(page.getElementById("shortcuts")));
  showLetters();
  dialog.showModal();
}
const lettersAreOff = () => localStorage.getItem("letters") === "off";
function showLetters() {
  for (const b of document.querySelectorAll("[data-letters]")) b.textContent = lettersAreOff() ? b.dataset.on : b.dataset.off;
}
showLetters();
document.addEventListener("click", (e) => {
  if (!e.target.closest?.("[data-letters]")) return;
  localStorage.setItem("letters", lettersAreOff() ? "on" : "off");
  showLetters();
});
document.addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && e.key === "k") {
    e.preventDefault();
    openPalette();
    return;
  }
  const dialog = document.querySelector("dialog[open]");
  if (dialog) {
    if (e.key === "Escape") { // a field that searches would only be cleared
      e.preventDefault();
      dialog.close();
    }
    const links = [...dialog.querySelectorAll("a.open")];
    if ((e.key === "ArrowDown" || e.key === "ArrowUp") && links.length) {
      e.preventDefault();
      const next = links.indexOf(document.activeElement) + (e.key === "ArrowDown" ? 1 : -1);
      (links[next] ?? (next < 0 ? paletteField : links.at(-1))).focus();
    }
    if (e.key !== "Enter") e.stopImmediatePropagation();
    return;
  }
  const isLetter = e.key.length === 1 && !e.ctrlKey && !e.metaKey && !e.altKey && !e.target.closest("input:not([type=checkbox]), textarea, select, [contenteditable]");
  if (!isLetter) return;
  if (lettersAreOff()) e.stopImmediatePropagation();
  else if (e.key === "?") openKeyboard();
}, true);

// Whoever drives the console by keys can tell that they are listened to.
document.documentElement.dataset.ready = "";
