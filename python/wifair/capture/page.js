for (const table of document.querySelectorAll("table.sortable"))
  table.querySelectorAll("th").forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") !== "descending";
    table.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.value ?? row.cells[column].textContent;
    const order = (a, b) => {
      const x = key(a), y = key(b), p = parseFloat(x), q = parseFloat(y);
      if (isNaN(p) !== isNaN(q)) return isNaN(p) ? 1 : -1;
      const sign = isNaN(p) ? x.localeCompare(y, "en", {numeric: true}) : p - q;
      return down ? -sign : sign;
    };
    const body = table.tBodies[0];
    body.append(...[...body.rows].sort(order));
  }));
