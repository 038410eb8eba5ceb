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
const openFirst = (field) => document.querySelector(field.dataset.openFirst + " a.open")?.click();
document.addEventListener("input", (e) => {
  if (e.target.dataset?.openFirst) e.target.dataset.stale = "";
});
document.addEventListener("htmx:after:swap", () => {
  for (const field of document.querySelectorAll("[data-stale]")) delete field.dataset.stale;
  if (waiting) openFirst(waiting);
  waiting = null;
});
document.addEventListener("keydown", (e) => {
  const field = e.target.closest?.("[data-open-first]");
  if (!field || e.key !== "Enter") return;
  e.preventDefault();
  if ("stale" in field.dataset) waiting = field;
  else openFirst(field);
});

// A click copies a code.
document.addEventListener("click", async (e) => {
  const code = e.target.closest?.("[data-copy]");
  if (!code || !navigator.clipboard) return;
  await navigator.clipboard.writeText(code.dataset.copy || code.textContent);
  say(document.documentElement.dataset.copied ?? "Copied");
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
