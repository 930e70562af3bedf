// What a guide does with a script: it shows the address it was read from, copies code, and searches. Without one it is a page to read.

/** The way to the folder of this site, from a wrong address too. */
const up = document.currentScript.getAttribute("src").replace("guide.js", "");

// the API is where this page is, unless the site was written for another address
if (location.protocol.startsWith("http"))
  for (const address of document.querySelectorAll(".api")) address.textContent = location.origin;

for (const block of document.querySelectorAll("pre:not(.answer)")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy";
  button.ariaLive = "polite";
  button.addEventListener("click", async () => {
    button.textContent = (await copy(block.querySelector("code"))) ? "Copied" : "Not copied";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 2000);
  });
  block.prepend(button);
}

/** Puts the text of an element on the clipboard. Says whether it did. */
async function copy(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch {
    // a page by plain http from another machine has no clipboard of its own
    getSelection().selectAllChildren(element);
    return document.execCommand("copy");
  }
}

const field = document.getElementById("search");
const found = document.getElementById("found");
const results = document.getElementById("results");
const MOST = 10;
let index;

/** Words of a question that say nothing of its answer. */
const SMALL = new Set(
  "a an and are as at be by can do does for from get has have how i if in is it me my of on or our that the then there this to us was we what when where which who why will with you your".split(
    " ",
  ),
);

/** What was typed, without small words; these alone are looked for as they are. */
function wordsOf(typed) {
  const all =
    typed
      .toLowerCase()
      .replaceAll("email", "mail")
      .match(/[\p{L}\p{N}_:./-]+/gu) ?? [];
  const words = all.filter((word) => !SMALL.has(word));
  return [...new Set(words.length > 0 ? words : all)];
}

/** The sections that have most of the words, best first: a heading counts more than the text below it. */
function find(sections, words) {
  const scored = sections.map((section) => {
    const [, page, heading, text] = section;
    const places = [
      [heading.toLowerCase(), 8],
      [page.toLowerCase(), 3],
      [text.toLowerCase(), 1],
    ];
    let [hits, score] = [0, 0];
    for (const word of words) {
      const points = places.map(([place, weight]) => {
        const at = place.indexOf(word);
        if (at < 0) return 0;
        return /[\p{L}\p{N}]/u.test(place[at - 1] ?? " ") ? weight / 2 : weight;
      });
      const best = Math.max(...points);
      if (best > 0) hits += 1;
      score += best;
    }
    return { hits, score, section };
  });
  const most = Math.max(1, ...scored.map(({ hits }) => hits));
  return scored
    .filter(({ hits }) => hits === most)
    .sort((one, other) => other.score - one.score)
    .map(({ section }) => section);
}

/** A few words around the first place that has one. */
function around(text, words) {
  const at = Math.min(...words.map((word) => text.toLowerCase().indexOf(word)).filter((place) => place >= 0));
  if (!Number.isFinite(at)) return text.slice(0, 100);
  const from = Math.max(0, text.lastIndexOf(" ", Math.max(0, at - 30)));
  const to = text.indexOf(" ", from + 100);
  return `${from > 0 ? "… " : ""}${(to < 0 ? text.slice(from) : `${text.slice(from, to)} …`).trim()}`;
}

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

/** An element with a text in which the words are marked. */
function marked(name, text, words) {
  const made = element(name, "");
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  // the words stand at the odd places
  for (const [place, part] of text.split(new RegExp(`(${escaped.join("|")})`, "i")).entries())
    made.append(place % 2 ? element("mark", part) : part);
  return made;
}

async function search() {
  if (field.value.trim() === "") return close();
  try {
    index ??= await (await fetch(`${up}search.json`)).json();
  } catch {
    found.textContent = "The search index did not load. Try again.";
    return;
  }
  // more may have been typed while the index was on its way, or all of it deleted
  const words = wordsOf(field.value);
  if (words.length === 0) return close();
  const hits = find(index, words);
  found.textContent =
    hits.length === 0
      ? "Nothing has these words."
      : `${hits.length} ${hits.length === 1 ? "section" : "sections"}${hits.length > MOST ? `, the first ${MOST} are shown` : ""}`;
  results.replaceChildren(
    ...hits.slice(0, MOST).map(([href, page, heading, text]) => {
      const link = element("a", "");
      link.href = `${up}${href}`;
      link.append(marked("b", heading, words), element("small", page), marked("span", around(text, words), words));
      const item = element("li", "");
      item.append(link);
      return item;
    }),
  );
  results.hidden = hits.length === 0;
}

function close() {
  results.hidden = true;
  results.replaceChildren();
  found.textContent = "";
}

field.addEventListener("input", search);
// typed before this script was here
if (field.value) search();
field.parentElement.addEventListener("keydown", (event) => {
  const links = [...results.querySelectorAll("a")];
  const at = links.indexOf(document.activeElement);
  if (event.key === "Escape") {
    field.value = "";
    close();
    field.focus();
  } else if (event.key === "ArrowDown") (links[at + 1] ?? links[at])?.focus();
  else if (event.key === "ArrowUp") (links[at - 1] ?? field).focus();
  else if (event.key === "Enter" && document.activeElement === field) links[0]?.click();
  else return;
  event.preventDefault();
});
// a link to a heading of this same page stays on it
results.addEventListener("click", (event) => {
  if (event.target.closest("a")) close();
});
addEventListener("keydown", (event) => {
  if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  field.focus();
});
