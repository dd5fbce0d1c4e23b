// Makes the tables of a report sortable, and its charts downloadable. Without this script all content is still there.
"use strict";
(() => {
  const words = new Intl.Collator(undefined, { numeric: true });

  // What a cell is sorted by: a number, a text, or null for a dash.
  const keyOf = (cell) =>
    "missing" in cell.dataset ? null : "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent;
  const compared = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : words.compare(a, b));

  // Dashes stay last in either direction, and equal rows keep the order of the report.
  function sorted(rows, column, order) {
    if (order === "none") return rows;
    const keyed = rows.map((row) => ({ row, key: keyOf(row.cells[column]) }));
    const sign = order === "ascending" ? 1 : -1;
    keyed.sort((a, b) => (a.key === null) - (b.key === null) || (a.key === null ? 0 : sign * compared(a.key, b.key)));
    return keyed.map(({ row }) => row);
  }

  // Numbers begin with the largest and texts with the first; the third time the order of the report is back.
  function next(head, numeric) {
    const cycle = numeric ? ["none", "descending", "ascending"] : ["none", "ascending", "descending"];
    return cycle[(cycle.indexOf(head.ariaSort ?? "none") + 1) % cycle.length];
  }

  function makeSortable(table) {
    const body = table.tBodies[0], rows = [...body.rows], heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const order = next(head, head.classList.contains("number"));
        for (const other of heads) other.ariaSort = null;
        if (order !== "none") head.ariaSort = order;
        body.append(...sorted(rows, column, order));
      });
    });
  }

  function download(svg, name) {
    const blob = new Blob([new XMLSerializer().serializeToString(svg)], { type: "image/svg+xml" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
  }

  function offer(figure) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "save";
    button.textContent = "Download SVG";
    button.addEventListener("click", () => download(figure.querySelector("svg"), figure.dataset.file));
    figure.append(button);
  }

  for (const table of document.querySelectorAll("table.sortable")) makeSortable(table);
  for (const figure of document.querySelectorAll("figure[data-file]")) offer(figure);
})();
