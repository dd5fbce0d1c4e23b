// The page of the service: a text in, its spans and relations out. The threshold and the ticks ask for nothing new.
import { LabelEditor } from "./labels.js";
import { article, codePoints, colorClasses, element, scored } from "./marks.js";
import { ServiceError, ask } from "./service.js";
import { characters, colorIndices, countedLabels, filtered, summary } from "./view.js";

const part = (id) => document.getElementById(id);
const text = part("text"), button = part("extract");
const editor = new LabelEditor(part("label-editor"));
const view = { threshold: 0, hiddenEntities: new Set(), hiddenRelations: new Set() };
let token = "", schema = null, busy = false;
let result = null; // the document of the last answer, with the labels that were asked for
let shown = null; // of it what passes the threshold and the ticks

function alertUser(headline, detail = "") {
  part("alert").replaceChildren(element("strong", {}, headline), detail ? ` ${detail}` : "");
  part("alert").hidden = false;
}

const announce = (sentence) => (part("status").textContent = sentence);

function report(error) {
  if (!(error instanceof ServiceError)) throw error;
  alertUser(error.message, error.detail);
  if (error.status === 401 || error.status === 403) askForToken();
}

function askForToken() {
  part("token-form").hidden = false;
  part("token").focus();
}

async function loadSchema() {
  schema = await ask("v1/schema", { token });
  if (!schema.predicts_relations) schema.relations = [];
  const { model, open_labels: open, version } = schema;
  part("model").textContent = `Model ${model} · spanwise ${version}`;
  document.title = `${model} · spanwise`;
  part("labels").hidden = !open && !schema.entities.length && !schema.relations.length;
  part("labels").open = Boolean(open);
  part("label-editor").hidden = !open;
  editor.reset(schema.entities);
  describe(open ? [] : schema.entities, schema.relations);
  countCharacters();
}

function describe(entities, relations) {
  const term = (classes) => ({ name, description }) => [
    element("dt", {}, element("span", { class: `chip ${classes(name)}` }, element("span", { class: "name" }, name))),
    element("dd", {}, description ?? ""),
  ];
  const colors = colorIndices([], schema.entities.map(({ name }) => name));
  const entity = term((name) => `fixed ${colorClasses(colors.get(name))}`);
  part("label-list").replaceChildren(...entities.flatMap(entity), ...relations.flatMap(term(() => "fixed tie")));
  part("labels-summary").textContent = schema.open_labels ? "Labels to look for" : "Labels of this model";
}

const lengthOf = (value) => {
  let count = 0;
  for (const _ of value) count++;
  return count;
};

function countCharacters() {
  const count = lengthOf(text.value), limit = schema?.limits?.characters;
  part("size").textContent = limit ? `${count.toLocaleString("en")} of ${characters(limit)}` : characters(count);
  part("size").classList.toggle("over", Boolean(limit) && count > limit);
  return !limit || count <= limit;
}

async function readFile(file) {
  const limit = schema?.limits?.body;
  if (limit && file.size > limit) {
    alertUser(`“${file.name}” is too long for this service.`, `It has ${file.size.toLocaleString("en")} bytes; at most ${limit.toLocaleString("en")} are allowed.`);
    return;
  }
  try {
    text.value = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
  } catch {
    alertUser(`“${file.name}” is not a text in UTF-8.`, "Convert it to UTF-8, or paste its text.");
    return;
  }
  part("alert").hidden = true;
  announce(`“${file.name}” is loaded.`);
  countCharacters();
  text.focus();
}

function hasFile(event) {
  return event.dataTransfer?.types.includes("Files");
}

function setBusy(now) {
  busy = now;
  button.setAttribute("aria-disabled", String(now));
  button.textContent = now ? "Extracting …" : "Extract";
  button.classList.toggle("busy", now);
  part("result").setAttribute("aria-busy", String(now));
  if (now) announce("Extracting …");
}

function problem() {
  if (!text.value.trim()) return ["There is no text yet.", "Paste a text or drop a file first."];
  if (!countCharacters()) return ["The text is too long for this service.", `At most ${characters(schema.limits.characters)} are allowed.`];
  const sentence = schema.open_labels ? editor.problem() : "";
  return sentence ? ["The labels need a change.", sentence] : null;
}

async function extract() {
  if (busy) return;
  part("alert").hidden = true;
  setBusy(true);
  try {
    if (!schema) await loadSchema();
    const found = problem();
    if (found) alertUser(...found);
    else await send();
  } catch (error) {
    report(error);
  } finally {
    setBusy(false);
    announce(shown && part("alert").hidden ? summary(shown, result.document) : "");
  }
}

async function send() {
  const labels = schema.open_labels ? editor.labels() : undefined;
  const asked = schema.open_labels ? editor.rows() : schema.entities;
  const answer = await ask("v1/extract", { token, body: { text: text.value, ...(labels && { labels }) } });
  const document = answer.documents?.[0];
  if (typeof document?.text !== "string") throw new ServiceError("The answer of the service holds no document.");
  result = { document: { ...document, entities: document.entities ?? [], relations: document.relations ?? [] }, asked };
  showResult();
}

const entityNames = () => result.asked.map(({ name }) => name);
const relationNames = () => schema.relations.map(({ name }) => name);

function showResult() {
  part("result").hidden = false;
  const { entities, relations } = result.document;
  result.colors = colorIndices(entities, entityNames());
  result.symmetric = new Set(schema.relations.filter(({ symmetric }) => symmetric).map(({ name }) => name));
  const tone = (label) => colorClasses(result.colors.get(label));
  makeChips(part("entity-chips"), entities, result.asked, view.hiddenEntities, tone);
  makeChips(part("relation-chips"), relations, schema.relations, view.hiddenRelations, () => "tie");
  part("table").hidden = !entities.length;
  show();
  const { top } = part("result").getBoundingClientRect();
  const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  if (top > 0.6 * innerHeight) part("result").scrollIntoView({ behavior: calm ? "auto" : "smooth" });
}

// Labels that occur, with checkboxes that show and hide what carries them.
function makeChips(nav, found, kinds, hidden, classes) {
  const described = new Map(kinds.map(({ name, description }) => [name, description]));
  const chip = (label) => {
    const input = element("input", { type: "checkbox" });
    input.checked = !hidden.has(label);
    input.addEventListener("change", () => {
      if (input.checked) hidden.delete(label);
      else hidden.add(label);
      show();
    });
    const title = described.get(label) ? `${label}: ${described.get(label)}` : label;
    const [name, count] = [element("span", { class: "name" }, label), element("span", { class: "count" })];
    return element("label", { class: `chip ${classes(label)}`, title, "data-label": label }, input, name, " ", count);
  };
  const labels = countedLabels(found, kinds.map(({ name }) => name), 0);
  nav.replaceChildren(...[...labels.keys()].map(chip));
  nav.hidden = !found.length;
}

function countChips(nav, found, known) {
  const counts = countedLabels(found, known, view.threshold);
  for (const chip of nav.children)
    chip.querySelector(".count").textContent = counts.get(chip.dataset.label).toLocaleString("en");
}

// Draws what passes the threshold and the ticks; the script of the arcs places them.
function show() {
  const whole = result.document;
  shown = filtered(whole, view);
  countChips(part("entity-chips"), whole.entities, entityNames());
  countChips(part("relation-chips"), whole.relations, relationNames());
  const heading = whole.entities.length ? "Result" : "No entities were found";
  const counts = summary(shown, whole);
  const open = part("document").querySelector("details")?.open ?? false;
  part("document").replaceChildren(article(shown, { heading, counts, ...result }));
  document.dispatchEvent(new Event("arcs"));
  const list = part("document").querySelector("details");
  if (list) list.open = open;
  if (part("table").open) fillTable();
  announce(counts);
}

function fillTable() {
  const { between } = codePoints(shown.text);
  const row = (entity) => {
    const label = element("span", { class: `chip fixed ${colorClasses(result.colors.get(entity.label))}` }, element("span", { class: "name" }, entity.label));
    const cells = [element("bdi", { class: "words" }, between(entity)), label, scored(entity), `${entity.start}–${entity.end}`];
    return element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
  };
  const head = ["Text", "Label", "Score", "Offsets"].map((name) => element("th", { scope: "col" }, name));
  const table = element("table", {}, element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...shown.entities.map(row)));
  part("table").querySelector(".scroll").replaceChildren(table);
}

async function copy() {
  const json = JSON.stringify(shown, null, 2);
  try {
    await navigator.clipboard.writeText(json);
  } catch {
    if (!copyOldWay(json)) return alertUser("The browser did not allow copying.", "Download the JSON instead.");
  }
  announce("The JSON of what is shown is copied.");
}

// Pages from other hosts without TLS have no `navigator.clipboard`.
function copyOldWay(json) {
  const area = element("textarea", { class: "unseen", "aria-hidden": "true" });
  area.value = json;
  document.body.append(area);
  area.select();
  const copied = document.execCommand("copy");
  area.remove();
  part("copy").focus();
  return copied;
}

// One line, so that the file is also JSONL, the package's own format.
function download() {
  const blob = new Blob([JSON.stringify(shown), "\n"], { type: "application/json" });
  const link = element("a", { href: URL.createObjectURL(blob), download: "extraction.jsonl" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

let frame = 0;
part("threshold").addEventListener("input", ({ target }) => {
  view.threshold = Number(target.value);
  part("threshold-value").textContent = view.threshold.toFixed(2);
  cancelAnimationFrame(frame);
  frame = requestAnimationFrame(show);
});
button.addEventListener("click", extract);
text.addEventListener("input", countCharacters);
part("copy").addEventListener("click", copy);
part("download").addEventListener("click", download);
part("table").addEventListener("toggle", () => part("table").open && fillTable());
part("file").addEventListener("change", ({ target }) => {
  if (target.files.length) readFile(target.files[0]);
  target.value = "";
});
part("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  token = part("token").value.trim();
  part("token-form").hidden = true;
  part("alert").hidden = true;
  if (text.value.trim()) extract();
  else loadSchema().catch(report);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
  event.preventDefault();
  extract();
});
for (const kind of ["dragover", "drop"])
  document.addEventListener(kind, (event) => {
    document.body.classList.toggle("dropping", kind === "dragover" && hasFile(event));
    if (!hasFile(event)) return; // a dropped selection goes where it is dropped
    event.preventDefault();
    if (kind === "drop") readFile(event.dataTransfer.files[0]);
  });
document.addEventListener("dragleave", ({ relatedTarget }) => {
  if (!relatedTarget) document.body.classList.remove("dropping");
});

countCharacters();
loadSchema().catch((error) => {
  part("model").textContent = "";
  report(error);
});
