// The page stands without this script; each part here makes something on it sort, zoom or compare.
import { h, render } from "preact";
import { Compare } from "./compare.jsx";
import { Dense } from "./dense.jsx";
import { Flame } from "./flame.jsx";
import { Refresh } from "./refresh.jsx";
import { DataTable, readTable } from "./table.jsx";

/** Puts a component in the place of an element. */
function replace(element, component) {
  const box = document.createElement("div");
  element.replaceWith(box);
  render(component, box);
}

/** Shows a component above a picture's data; the picture itself stays for printing. */
function enliven(figure, component) {
  const box = document.createElement("div");
  box.className = "live";
  figure.querySelector(".picture").after(box);
  figure.classList.add("enlivened");
  render(component, box);
}

function start() {
  for (const wide of document.querySelectorAll("section > .wide")) {
    const table = readTable(wide.querySelector("table"));
    replace(wide, wide.classList.contains("compares") ? <Compare {...table} /> : <DataTable {...table} />);
  }
  // The data of a picture is made a table that sorts when somebody looks at it.
  for (const details of document.querySelectorAll("figure details")) {
    details.addEventListener("toggle", () => {
      const wide = details.querySelector(":scope > .wide");
      if (wide) replace(wide, <DataTable {...readTable(wide.querySelector("table"))} />);
    });
  }
  const seconds = Number(document.body.dataset.refresh);
  if (seconds > 0) {
    const box = document.createElement("div");
    document.querySelector("header").append(box);
    render(<Refresh seconds={seconds} />, box);
  }
  for (const picture of JSON.parse(document.getElementById("data").textContent)) {
    const figure = document.getElementById(picture.id);
    // The browser may paint between two pictures.
    setTimeout(() => enliven(figure, picture.frames ? <Flame {...picture} /> : <Dense {...picture} />));
  }
}

// What hone drew is painted first.
requestAnimationFrame(() => setTimeout(start));
