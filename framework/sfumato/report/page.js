// What the page does when it is touched: charts, links between them, sorting, filtering, copying.
const each = (within, what, act) => within.querySelectorAll(what).forEach(act);

async function draw(figure) {
  const spec = JSON.parse(figure.querySelector("script").textContent);
  const options = { mode: "vega-lite", renderer: "svg", actions: false, tooltip: { theme: "custom" } };
  figure.view = (await vegaEmbed(figure.querySelector(".chart"), spec, options)).view;
  figure.view.addEventListener("click", (_, item) => show(figure.closest("section"), item?.datum?.mechanism));
}

function signal(section, name, value) {
  each(section, "figure.drawn", (figure) => figure.view?.signal(name, value).runAsync());
}

function show(section, mechanism) {
  const select = section.querySelector("select.shown");
  if (!select || mechanism === undefined) return;
  select.value = select.value === mechanism ? "" : mechanism;
  select.dispatchEvent(new Event("change"));
}

function link(section) {
  section.querySelector("select.shown")?.addEventListener("change", (event) => {
    const chosen = event.target.value;
    signal(section, "shown", chosen);
    each(section, "tr[data-mechanism]", (row) => row.classList.toggle("pale", chosen !== "" && row.dataset.mechanism !== chosen));
  });
  const slider = section.querySelector("input.at");
  slider?.addEventListener("input", () => {
    slider.nextElementSibling.value = JSON.parse(slider.dataset.stops)[slider.value];
    slider.setAttribute("aria-valuetext", slider.nextElementSibling.value);
    signal(section, "at", Number(slider.value));
  });
}

function sort(button) {
  const head = button.closest("th"), body = head.closest("table").tBodies[0];
  const down = head.getAttribute("aria-sort") === "ascending";
  each(head.closest("thead"), "th", (other) => other.removeAttribute("aria-sort"));
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  const key = (row) => row.cells[button.dataset.column].dataset.value ?? row.cells[button.dataset.column].textContent;
  const number = (text) => (text === "" || isNaN(text.replace("∞", "")) ? NaN : Number(text.replace("∞", "Infinity")));
  const order = (a, b) => {
    const [x, y] = [key(a), key(b)], [m, n] = [number(x), number(y)];
    if (isNaN(m) !== isNaN(n)) return isNaN(m) ? 1 : -1; // what was not measured stays below
    return (isNaN(m) ? x.localeCompare(y) : m === n ? 0 : m - n) * (down ? -1 : 1);
  };
  body.closest("table").classList.add("reordered");
  body.append(...[...body.rows].sort(order));
}

function filter(input) {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  const table = input.closest(".answers").querySelector("table");
  table.classList.toggle("reordered", words.length > 0 || table.querySelector("[aria-sort]") !== null);
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !words.every((word) => text.includes(word));
  }
}

async function copy(button) {
  const text = button.nextElementSibling.content.textContent;
  try {
    await navigator.clipboard.writeText(text);
  } catch { // a page opened from a disk may not reach the clipboard by itself
    const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  document.getElementById("said").value = `Copied as ${button.textContent}.`;
}

each(document, "figure.drawn", draw);
each(document, "section", link);
each(document, "th button", (button) => button.addEventListener("click", () => sort(button)));
each(document, "input.filter", (input) => input.addEventListener("input", () => filter(input)));
each(document, "button.copy", (button) => button.addEventListener("click", () => copy(button)));
each(document, "tr[data-mechanism] th.dotted", (name) => name.addEventListener("click", () => show(name.closest("section"), name.parentElement.dataset.mechanism)));
each(document, "td[title]", (cell) => cell.addEventListener("click", () => { document.getElementById("said").value = `${cell.textContent}: ${cell.title}`; }));
