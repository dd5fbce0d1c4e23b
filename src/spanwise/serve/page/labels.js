// The editor of labels, for models that take any labels: a name and an optional description per row.
import { element } from "./marks.js";

export class LabelEditor {
  #list;
  #own = [];

  constructor(root) {
    this.#list = root.querySelector("ul");
    root.querySelector("#add-label").addEventListener("click", () => this.#add({}, true));
    root.querySelector("#reset-labels").addEventListener("click", () => this.reset(this.#own));
  }

  // Shows the model's own labels.
  reset(labels) {
    this.#own = labels;
    this.#list.replaceChildren();
    for (const label of labels.length ? labels : [{}]) this.#add(label, false);
  }

  // What is filled in, in order.
  rows() {
    const row = ([name, description]) => ({ name: name.value.trim(), description: description.value.trim() });
    const rows = [...this.#list.children].map((item) => row(item.querySelectorAll("input")));
    return rows.filter(({ name, description }) => name || description);
  }

  // A sentence on what must be mended first, or "".
  problem() {
    const rows = this.rows(), names = rows.map(({ name }) => name);
    const twice = names.find((name, i) => names.indexOf(name) !== i);
    if (!rows.length) return "Name at least one label.";
    if (names.includes("")) return "A label has a description but no name.";
    return twice === undefined ? "" : `The label “${twice}” occurs twice.`;
  }

  // The labels of a request: names, or names with descriptions; undefined if they are the model's own.
  labels() {
    const rows = this.rows();
    const pairs = (labels) => JSON.stringify(labels.map(({ name, description }) => [name, description ?? ""]));
    if (pairs(rows) === pairs(this.#own)) return undefined;
    if (rows.every(({ description }) => !description)) return rows.map(({ name }) => name);
    return Object.fromEntries(rows.map(({ name, description }) => [name, description]));
  }

  #add({ name = "", description = "" }, focus) {
    const field = (value, says, kind) => {
      const input = element("input", { type: "text", "aria-label": says, placeholder: says, class: kind });
      input.value = value;
      input.addEventListener("keydown", (event) => {
        if (event.key === "Enter" && !event.ctrlKey && !event.metaKey) this.#add({}, true);
      });
      return input;
    };
    const remove = element("button", { type: "button", class: "icon", "aria-label": "Remove this label" }, "×");
    const item = element("li", {}, field(name, "Label", "name"), field(description, "Description (optional)", "about"), remove);
    remove.addEventListener("click", () => this.#remove(item));
    this.#list.append(item);
    if (focus) item.querySelector("input").focus();
  }

  // The focus goes to a neighbour, and the last row is replaced by an empty one.
  #remove(item) {
    const neighbour = item.nextElementSibling ?? item.previousElementSibling;
    item.remove();
    if (neighbour) neighbour.querySelector("input").focus();
    else this.#add({}, true);
  }
}
