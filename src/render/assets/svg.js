"use strict";
// Zoom with click or Enter, move with the arrow keys, search with a slash.
(function () {
  const svg = document.documentElement;
  const inner = Number(svg.dataset.inner);
  const margin = Number(svg.dataset.margin);
  const total = Number(svg.dataset.total);
  const details = document.getElementById("details");
  const boxes = Array.from(svg.querySelectorAll("g"), function (g) {
    const [d, x, w] = g.dataset.b.split(" ").map(Number);
    return { g, d, x, w, title: g.querySelector("title").textContent };
  });
  const found = document.getElementById("found");
  let zoomed = null;

  function name(box) {
    return box.title.slice(0, box.title.lastIndexOf(": "));
  }

  function inside(box, outer) {
    return box.x >= outer.x - 0.01 && box.x + box.w <= outer.x + outer.w + 0.01;
  }

  function zoom(to) {
    zoomed = to;
    const from = to ? to.x : 0;
    const scale = to ? inner / to.w : 1;
    for (const box of boxes) {
      const above = to && box.d < to.d && inside(to, box);
      const shown = !to || above || (box.d >= to.d && inside(box, to));
      box.g.style.display = shown ? "" : "none";
      box.g.classList.toggle("above", Boolean(above));
      if (!shown) continue;
      const x = above ? 0 : (box.x - from) * scale;
      const w = above ? inner : box.w * scale;
      const rect = box.g.querySelector("rect");
      let text = box.g.querySelector("text");
      rect.setAttribute("x", x + margin);
      rect.setAttribute("width", Math.max(w - 0.3, 0.1));
      const label = fitLabel(name(box), Math.floor((w - 6) / 7.2), svg.dataset.whole === "1");
      if (!text && label) {
        text = box.g.appendChild(document.createElementNS(svg.namespaceURI, "text"));
        text.setAttribute("y", Number(rect.getAttribute("y")) + 12);
      }
      if (!text) continue;
      text.setAttribute("x", x + margin + 3);
      text.textContent = label;
    }
  }

  function search() {
    const wanted = window.prompt("Search for (part of a name, or /regular expression/; empty clears)", "");
    if (wanted === null) return;
    const plain = wanted.toLowerCase();
    let test = (text) => text.toLowerCase().includes(plain);
    if (wanted.length > 2 && wanted.startsWith("/") && wanted.endsWith("/")) {
      try {
        const pattern = new RegExp(wanted.slice(1, -1), "i");
        test = (text) => pattern.test(text);
      } catch (error) {
        found.textContent = "not a regular expression: " + error.message;
        return;
      }
    }
    let sum = 0;
    let until = -1; // what is below a match is part of it
    let depth = -1;
    for (const box of boxes) {
      const match = plain !== "" && test(name(box));
      box.g.classList.toggle("found", match);
      if (depth >= 0 && (box.d <= depth || box.x >= until - 0.001)) depth = -1;
      if (match && depth < 0) {
        sum += box.w;
        depth = box.d;
        until = box.x + box.w;
      }
    }
    const share = sum / inner;
    found.textContent = plain === "" ? "" : "found " + (share * 100).toFixed(3) + " %, about " + Math.round(share * total) + " " + svg.dataset.unit;
  }

  function step(box, pressed) {
    const turned = { ArrowUp: "ArrowDown", ArrowDown: "ArrowUp" };
    const key = (svg.dataset.upright === "1" && turned[pressed]) || pressed;
    const next = {
      ArrowUp: () => boxes.filter((other) => other.d === box.d - 1 && inside(box, other))[0],
      ArrowDown: () =>
        boxes.filter((other) => other.d === box.d + 1 && inside(other, box)).sort((a, b) => b.w - a.w)[0],
      ArrowLeft: () => boxes.filter((other) => other.d === box.d && other.x < box.x).pop(),
      ArrowRight: () => boxes.filter((other) => other.d === box.d && other.x > box.x)[0],
    }[key];
    return next ? next() : undefined;
  }

  for (const box of boxes) {
    box.g.setAttribute("tabindex", "-1");
    box.g.setAttribute("role", "button");
    box.g.setAttribute("aria-label", box.title);
    box.g.addEventListener("click", () => zoom(box));
    box.g.addEventListener("mouseenter", () => (details.textContent = box.title));
    box.g.addEventListener("focus", () => (details.textContent = box.title));
    box.g.addEventListener("keydown", function (event) {
      if (event.key === "Enter" || event.key === " ") zoom(box);
      else {
        const next = step(box, event.key);
        if (!next) return;
        next.g.focus();
      }
      event.preventDefault();
    });
  }
  if (boxes.length) boxes[0].g.setAttribute("tabindex", "0");
  for (const [id, act] of [["reset", () => zoom(null)], ["search", search]]) {
    const button = document.getElementById(id);
    button.addEventListener("click", act);
    button.addEventListener("keydown", (event) => event.key === "Enter" && act());
  }
  window.addEventListener("keydown", function (event) {
    if (event.key === "/") {
      event.preventDefault();
      search();
    } else if (event.key === "Escape" && zoomed) zoom(null);
  });
})();
