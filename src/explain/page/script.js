"use strict";
const byId = (id) => document.getElementById(id);
const data = JSON.parse(byId("data").textContent);
const kChunk = 60; /* rows that are drawn at a time */
const kDeepest = 60; /* a tree that is deeper stays text */
let shown = data.rows;
let drawn = 0;

function add(parent, name, text, style) {
  const element = document.createElement(name);
  if (text !== undefined) element.textContent = text;
  if (style) element.className = style;
  parent.append(element);
  return element;
}

const number = (value, digits) => (typeof value === "number" ? value.toFixed(digits) : "–");
const percent = (value) => (typeof value === "number" ? (100 * value).toFixed(1) + " %" : "–");

/* Of each code point, the share of the phrase that says most about it; nothing where none does. */
function sharesByPlace(row, length) {
  const places = new Array(length);
  for (const phrase of row.phrases || []) {
    for (let i = phrase.start; i < phrase.end && i < length; ++i) {
      const old = places[i];
      if (!old || Math.abs(phrase.share) > Math.abs(old.share)) places[i] = phrase;
    }
  }
  return places;
}

function drawText(box, row) {
  const codes = Array.from(row.text);
  const places = sharesByPlace(row, codes.length);
  const most = Math.max(1e-9, ...(row.phrases || []).map((phrase) => Math.abs(phrase.share)));
  for (let begin = 0; begin < codes.length;) {
    let end = begin + 1;
    while (end < codes.length && places[end] === places[begin]) ++end;
    const text = codes.slice(begin, end).join("");
    const phrase = places[begin];
    if (!phrase) {
      box.append(text);
    } else {
      const supports = phrase.share >= 0;
      const mark = add(box, "mark", text, supports ? "" : "against");
      const strength = (0.65 * Math.abs(phrase.share) / most).toFixed(3);
      mark.style.background = `rgba(var(--${supports ? "for" : "against"}), ${strength})`;
      mark.title = `${phrase.text}: ${number(phrase.share, 4)}`;
    }
    begin = end;
  }
}

function table(box, heading, columns, rows) {
  const part = add(box, "section");
  add(part, "h2", heading);
  const element = add(part, "table");
  const head = add(add(element, "thead"), "tr");
  for (const [name, style] of columns) add(head, "th", name, style).scope = "col";
  const body = add(element, "tbody");
  for (const row of rows) {
    const line = add(body, "tr");
    row.forEach((cell, i) => add(line, "td", cell, columns[i][1]));
  }
}

function drawPhrases(box, row) {
  const ablated = row.phrases.some((phrase) => phrase.ablated_score !== undefined);
  const columns = [["phrase"], ["share", "number"]];
  if (ablated) columns.push(["score without it", "number"], ["answer then"]);
  table(box, "Phrases", columns, row.phrases.map((phrase) => {
    const cells = [phrase.text, number(phrase.share, 4)];
    if (!ablated) return cells;
    const then = phrase.flips === undefined ? "" : phrase.flips ? "flips" : "stays";
    return [...cells, percent(phrase.ablated_score), then];
  }));
}

function drawConcepts(box, row) {
  const columns = [["phrase of the training set"], ["share", "number"], ["similarity", "number"],
    ["labels of its rows"], ["row", "number"]];
  table(box, "Concepts", columns, row.concepts.map((each) => [
    each.text, number(each.share, 4), number(each.similarity, 3),
    Object.entries(each.labels).map(([label, count]) => `${label} ${count}`).join(", "),
    String(each.row)]));
}

/* Gives lists of lists of words; null where brackets do not close or nest too deep. */
function readTree(text) {
  const root = [];
  const open = [root];
  for (const token of text.match(/[()]|[^\s()]+/g) || []) {
    if (token === "(") {
      const node = [];
      open[open.length - 1].push(node);
      open.push(node);
      if (open.length > kDeepest) return null;
    } else if (token === ")") {
      open.pop();
      if (open.length === 0) return null;
    } else {
      open[open.length - 1].push(token);
    }
  }
  return open.length === 1 ? root : null;
}

const kEscapes = { "-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}" };

function drawNode(box, node) {
  /* A label stands before a node's children: (NP (DT the) (NN film)). */
  const labelled = node.length > 1 && typeof node[0] === "string";
  const children = labelled ? node.slice(1) : node;
  const word = children.length === 1 && typeof children[0] === "string";
  const into = word ? box : add(box, "span", undefined, "node");
  if (labelled && !word) into.title = node[0];
  for (const child of children) {
    if (typeof child === "string") add(into, "span", kEscapes[child] || child);
    else if (child.length > 0) drawNode(into, child);
  }
}

function drawTree(box, row) {
  const part = add(box, "section");
  add(part, "h2", "Tree");
  const tree = readTree(row.tree);
  if (!tree) {
    add(part, "pre", row.tree);
    return;
  }
  const into = add(part, "div", undefined, "tree");
  for (const node of tree) {
    if (typeof node === "string") add(into, "span", node);
    else if (node.length > 0) drawNode(into, node);
  }
}

function drawMore(box, row) {
  const more = add(box, "div", undefined, "more");
  table(more, "Scores", [["label"], ["score", "number"]],
    Object.entries(row.scores).map(([label, score]) => [label, number(score, 4)]));
  if (row.shares) {
    table(more, "Parts of the answer's logit", [["part"], ["share", "number"]],
      Object.entries(row.shares).map(([name, share]) => [name, number(share, 4)]));
  }
  if (row.phrases) drawPhrases(more, row);
  if (row.concepts) drawConcepts(more, row);
  if (row.tree) drawTree(more, row);
  if (row.cut) add(more, "p", "Cut, because the text is too long: " + row.cut.join(" · "));
  else if (row.truncated) add(more, "p", `Cut to ${row.tokens} of ${row.original_tokens} tokens.`);
}

function drawRow(box, row) {
  const details = add(box, "details");
  const summary = add(details, "summary");
  const answer = add(summary, "div", undefined, "answer");
  add(answer, "b", row.labels ? row.labels.join(", ") : row.label);
  add(answer, "span", number(row.score, 4));
  if (row.gold !== undefined) {
    add(answer, "span", row.wrong ? `is ${row.gold}` : `label: ${row.gold}`, row.wrong ? "bad" : "");
  }
  drawText(add(summary, "div", undefined, "text"), row);
  details.addEventListener("toggle", () => {
    if (details.open && !details.querySelector(".more")) drawMore(details, row);
  });
}

function drawSome() {
  const end = Math.min(shown.length, drawn + kChunk);
  const some = document.createDocumentFragment();
  for (; drawn < end; ++drawn) drawRow(some, shown[drawn]);
  byId("rows").append(some);
}

/* Draws on while the end of the list is near what is seen. */
const watch = new IntersectionObserver((seen) => {
  if (!seen[seen.length - 1].isIntersecting || drawn >= shown.length) return;
  drawSome();
  watch.unobserve(byId("end"));
  watch.observe(byId("end"));
}, { rootMargin: "1500px" });

function filter() {
  const answer = byId("answer").value;
  const gold = byId("gold").value;
  const text = byId("search").value.toLowerCase();
  shown = data.rows.filter((row) =>
    (!answer || row.label === answer || (row.labels || []).includes(answer)) &&
    (!gold || row.gold === gold) &&
    (!byId("wrong").checked || row.wrong) &&
    (!byId("flips").checked || (row.phrases || []).some((phrase) => phrase.flips)) &&
    (!text || row.text.toLowerCase().includes(text)));
  drawn = 0;
  byId("rows").replaceChildren();
  drawSome();
  const wrong = shown.filter((row) => row.wrong).length;
  const known = shown.some((row) => row.wrong !== undefined);
  byId("count").textContent = `${shown.length} of ${data.rows.length} texts` +
    (known ? `, ${wrong} errors` : "");
}

function begin() {
  byId("model").textContent = `${data.model} · ${data.method}`;
  for (const label of data.labels) add(byId("answer"), "option", label).value = label;
  const golds = new Set(data.rows.map((row) => row.gold).filter((gold) => gold !== undefined));
  if (golds.size > 0 && golds.size <= 500) {
    for (const gold of golds) add(byId("gold"), "option", gold).value = gold;
    byId("gold-box").hidden = false;
  }
  byId("wrong-box").hidden = !data.rows.some((row) => row.wrong !== undefined);
  byId("flips-box").hidden = !data.rows.some(
    (row) => (row.phrases || []).some((phrase) => phrase.flips !== undefined));
  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  byId("filters").addEventListener("input", filter);
  filter();
  watch.observe(byId("end"));
}

begin();
