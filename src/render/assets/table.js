"use strict";
// Tables: filter rows by text, sort by a column.
(function () {
  for (const field of document.querySelectorAll("input.filter")) {
    const body = document.getElementById(field.dataset.table).tBodies[0];
    const shown = field.closest("p").querySelector(".shown");
    field.addEventListener("input", function () {
      const wanted = field.value.toLowerCase();
      let count = 0;
      for (const row of body.rows) {
        row.hidden = !row.textContent.toLowerCase().includes(wanted);
        count += row.hidden ? 0 : 1;
      }
      shown.textContent = wanted ? count + " of " + body.rows.length + " rows" : "";
    });
  }
  for (const button of document.querySelectorAll("thead button")) {
    button.addEventListener("click", function () {
      const head = button.parentElement;
      const column = head.cellIndex;
      const body = head.closest("table").tBodies[0];
      // Numbers begin with the largest, words with the first.
      const numeric = head.classList.contains("n");
      const before = head.getAttribute("aria-sort");
      const ascending = before ? before === "descending" : !numeric;
      for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[column];
        return numeric ? Number(cell.dataset.v || 0) : cell.textContent;
      };
      const order = (a, b) => (numeric ? a.key - b.key : a.key < b.key ? -1 : a.key > b.key ? 1 : 0);
      const rows = Array.from(body.rows, (row) => ({ row, key: key(row) }));
      rows.sort((a, b) => (ascending ? order(a, b) : order(b, a)));
      body.append(...rows.map((entry) => entry.row));
    });
  }
})();
