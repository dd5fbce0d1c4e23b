// The article of a document: its text with spans as nested boxes, its relations as arcs and as a list.
// It builds the same markup as the package `render` does for files. Text only ever becomes text nodes and attributes.
const TONES = 16, STYLED_LEVELS = 8, LABEL_CELLS = 28;
const SVG = "http://www.w3.org/2000/svg";
const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|\p{Emoji_Presentation}/u;

// An element with attributes and children; attributes that are null or undefined are left out.
export function element(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

function drawing(tag, attributes, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) if (value != null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// The characters of the text in order, with each span opened and closed around them. Where two spans cross, the one
// that starts later is cut at the other's end and continues in a second piece. `height` counts the levels inward.
export function nestedPieces(length, spans) {
  const order = [...spans.keys()];
  order.sort((a, b) => spans[a].start - spans[b].start || spans[b].end - spans[a].end || a - b);
  const borders = [...new Set([0, length, ...spans.flatMap(({ start, end }) => [start, end])])].sort((a, b) => a - b);
  const tokens = [], stack = [];
  const open = (entity, begins) => {
    stack.push({ kind: "open", entity, begins, ends: true, height: 1 });
    tokens.push(stack.at(-1));
  };
  let cursor = 0, upcoming = 0;
  for (const border of borders) {
    if (border > cursor) tokens.push({ kind: "text", start: cursor, end: border });
    cursor = border;
    for (const cut of closed(tokens, stack, spans, border)) open(cut, false);
    while (upcoming < order.length && spans[order[upcoming]].start === border) open(order[upcoming++], true);
  }
  return tokens;
}

// Closes the pieces that end here and those inside them; the spans of the latter that go on, outermost first.
function closed(tokens, stack, spans, border) {
  const first = stack.findIndex(({ entity }) => spans[entity].end === border);
  const cut = [];
  while (first >= 0 && stack.length > first) {
    const piece = stack.pop();
    piece.ends = spans[piece.entity].end === border;
    if (!piece.ends) cut.unshift(piece.entity);
    if (stack.length) stack.at(-1).height = Math.max(stack.at(-1).height, piece.height + 1);
    tokens.push({ kind: "close" });
  }
  return cut;
}

const cells = (character) => (WIDE.test(character) ? 2 : /\p{M}/u.test(character) ? 0 : 1);

// A label no wider than a line of a phone; whoever shows it has the whole label as its title.
export function short(label) {
  let width = 0, cut = "";
  for (const character of label) {
    width += cells(character);
    if (width <= LABEL_CELLS - 1) cut += character;
    if (width > LABEL_CELLS) return `${cut.trimEnd()}…`;
  }
  return label;
}

// Documents leave out a score of one.
export const scoreOf = ({ score = 1 }) => score;
const titleOf = (found) => `${found.label} · ${scoreOf(found).toFixed(2)}`;

// Labels beyond the last color repeat the colors with dashed edges.
export const colorClasses = (index) => `c${index % TONES}${index < TONES ? "" : " again"}`;

// No font has a sign for NUL.
const written = (text) => text.replaceAll("\0", "\ufffd");

// The offsets of documents count code points, those of JavaScript UTF-16 units.
export function codePoints(text) {
  const characters = Array.from(text);
  return { count: characters.length, between: ({ start, end }) => written(characters.slice(start, end).join("")) };
}

function box(piece, entity, colors) {
  const classes = [colorClasses(colors.get(entity.label))];
  if (!piece.begins) classes.push("came-from");
  if (!piece.ends) classes.push("goes-on");
  const mark = element("mark", {
    class: classes.join(" "),
    "data-entity": piece.entity,
    "data-label": short(entity.label),
    title: titleOf(entity),
  });
  if (piece.height > 1) mark.style.setProperty("--up", Math.min(piece.height, STYLED_LEVELS));
  return mark;
}

function markedText({ entities }, { count, between }, colors) {
  const text = element("div", { class: "text", dir: "auto", lang: "" });
  const open = [text];
  let deep = 1;
  for (const token of nestedPieces(count, entities)) {
    if (token.kind === "text") open.at(-1).append(between(token));
    else if (token.kind === "close") open.pop();
    else {
      const mark = box(token, entities[token.entity], colors);
      deep = Math.max(deep, Math.min(token.height, STYLED_LEVELS));
      open.at(-1).append(mark);
      open.push(mark);
    }
  }
  text.style.setProperty("--deep", deep);
  return text;
}

// An arc and a label for each relation, without positions. Labels come last, to cover the arcs they cross.
function arcs(relations, symmetric) {
  const title = (tie) => drawing("title", {}, titleOf(tie));
  const ends = ({ head, tail, label }) => ({
    "data-head": head, "data-tail": tail, "data-symmetric": symmetric.has(label) ? "" : null,
  });
  const paths = relations.map((tie, i) => drawing("path", { "data-relation": i, ...ends(tie) }, title(tie)));
  const labels = relations.map((tie, i) => drawing("text", { "data-relation": i }, title(tie), short(tie.label)));
  return drawing("svg", { class: "arcs", "aria-hidden": "true" }, ...paths, ...labels);
}

export const scored = (found) => element("span", { class: "score" }, scoreOf(found).toFixed(2));

function relationList({ entities, relations }, { between }, symmetric) {
  const end = (number) => element("bdi", {}, between(entities[number]));
  const link = ({ label }) => element("span", { class: "link" }, symmetric.has(label) ? `—${label}—` : `—${label}→`);
  const lines = relations.map((tie, i) => {
    const parts = [end(tie.head), " ", link(tie), " ", end(tie.tail), " ", scored(tie)];
    return element("li", { "data-relation": i, title: titleOf(tie) }, ...parts);
  });
  return element("details", { open: "" }, element("summary", {}, "Relations"), element("ul", {}, ...lines));
}

// `colors` maps labels to indices, `symmetric` holds the labels of relations without a direction.
export function article(shown, { heading, counts, colors, symmetric }) {
  const text = codePoints(shown.text);
  const header = element("header", {}, element("h2", {}, heading), element("span", { class: "counts" }, counts));
  const made = element("article", { class: "doc" }, header, markedText(shown, text, colors));
  if (shown.relations.length)
    made.append(arcs(shown.relations, symmetric), relationList(shown, text, symmetric));
  return made;
}
