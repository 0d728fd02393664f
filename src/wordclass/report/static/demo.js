"use strict";
(() => {
  const values = JSON.parse(document.getElementById("map-values").textContent);
  const map = document.getElementById("map");
  const said = document.getElementById("said");
  const find = document.getElementById("find");
  const marks = map.querySelector(".marks");
  const dots = [...map.querySelectorAll(".points circle")];
  const labels = [...map.querySelectorAll(".labels text")];
  const thumbs = [...document.querySelectorAll("[data-panel]")];
  const chips = [...document.querySelectorAll("[data-class]")];
  const hint = said.textContent;
  const isStill = matchMedia("(prefers-reduced-motion: reduce)");
  const svg = (name, attributes) => {
    const made = document.createElementNS(map.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  };

  let places = dots.map((dot) => [Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))]);
  let chosenClass = null;
  let found = [];
  let frame = 0;
  // the page has a title in every dot for readers without a script; here they would come twice
  dots.forEach((dot) => dot.replaceChildren());

  const nameOf = (k) => values.classes[values.classOf[k]];

  const isOn = (j) => j === chosenClass || (found.length === 1 && values.classOf[found[0]] === j);

  function mark(rows) {
    marks.replaceChildren();
    const written = [];
    const shown = rows.slice(0, 40);
    for (const k of shown) {
      const [x, y] = places[k];
      marks.append(svg("circle", { class: `k${values.classOf[k]}`, cx: x, cy: y, r: 9 }));
    }
    for (const k of shown) write(k, written);
  }

  // writes the name of a term above, below, right or left of it: where it covers no other name
  function write(k, written) {
    const text = svg("text", {});
    text.textContent = values.terms[k];
    marks.append(text);
    const [x, y] = places[k];
    const box = text.getBBox();
    const [half, rise] = [box.width / 2, box.height / 2 + 12];
    const inside = (middle) => Math.min(Math.max(middle, half + 6), 994 - half);
    const tries = [
      [inside(x), y - rise], [inside(x), y + rise], [x + half + 16, y], [x - half - 16, y],
    ].filter(([a, b]) => a > half && a < 1000 - half && b > 14 && b < 986);
    const isFree = ([a, b]) => written.every(
      (other) => Math.abs(a - other.a) > half + other.half || Math.abs(b - other.b) > box.height,
    );
    const place = tries.find(isFree);
    if (!place) return text.remove();
    const [a, b] = place;
    text.setAttribute("x", a);
    text.setAttribute("y", b);
    return written.push({ a, b, half });
  }

  function show() {
    map.classList.toggle("chosen", chosenClass !== null || found.length > 0);
    const isFound = new Set(found);
    dots.forEach((dot, k) => {
      dot.classList.toggle("on", isFound.has(k) || values.classOf[k] === chosenClass);
    });
    labels.forEach((label, j) => label.classList.toggle("on", isOn(j)));
    placeLabels();
    chips.forEach((chip, j) => chip.setAttribute("aria-pressed", String(j === chosenClass)));
    mark(found);
  }

  function placeLabels() {
    const panel = values.panels[current()];
    labels.forEach((label, j) => {
      const [x, y, hasRoom] = panel.labels[j];
      label.setAttribute("display", hasRoom || isOn(j) ? "inline" : "none");
      const half = isOn(j) ? label.getComputedTextLength() / 2 : 0;
      label.setAttribute("x", half ? Math.min(Math.max(x, half + 6), 994 - half) : x);
      label.setAttribute("y", Math.max(y, 20));
    });
  }

  const current = () => thumbs.findIndex((thumb) => thumb.getAttribute("aria-pressed") === "true");

  function move(panel) {
    thumbs.forEach((thumb, k) => thumb.setAttribute("aria-pressed", String(k === panel)));
    map.setAttribute("aria-label", values.panels[panel].title);
    const from = places.map((place) => [...place]);
    const to = values.panels[panel].places;
    const start = performance.now();
    const duration = isStill.matches ? 0 : 700;
    cancelAnimationFrame(frame);
    marks.replaceChildren();
    map.classList.add("moving");
    const draw = (now) => {
      const time = duration ? Math.min(Math.max((now - start) / duration, 0), 1) : 1;
      const eased = 1 - (1 - time) ** 3;
      dots.forEach((dot, k) => {
        const x = from[k][0] + (to[k][0] - from[k][0]) * eased;
        const y = from[k][1] + (to[k][1] - from[k][1]) * eased;
        places[k] = [x, y];
        dot.setAttribute("cx", x.toFixed(1));
        dot.setAttribute("cy", y.toFixed(1));
      });
      if (time < 1) frame = requestAnimationFrame(draw);
      else {
        map.classList.remove("moving");
        placeLabels();
        mark(found);
      }
    };
    draw(start);
  }

  function chooseClass(column) {
    chosenClass = chosenClass === column ? null : column;
    found = [];
    find.value = "";
    const mine = values.terms.filter((_, k) => values.classOf[k] === chosenClass);
    said.textContent = chosenClass === null
      ? hint
      : `${values.classes[chosenClass]}: ${mine.slice(0, 8).join(", ")} and ${Math.max(mine.length - 8, 0)} more`;
    show();
  }

  function search() {
    const wanted = find.value.trim().toLowerCase();
    const rows = [...values.terms.keys()];
    const exact = rows.filter((k) => values.terms[k] === wanted);
    const starting = rows.filter((k) => values.terms[k].startsWith(wanted));
    found = wanted === "" ? [] : exact.length ? exact : starting;
    chosenClass = null;
    if (wanted === "") said.textContent = hint;
    else if (!found.length) said.textContent = `No term on this map starts with "${wanted}".`;
    else if (found.length === 1) said.textContent = `${values.terms[found[0]]}: chosen for ${nameOf(found[0])}`;
    else said.textContent = `${found.length} terms start with "${wanted}".`;
    show();
  }

  function nearest(event) {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    const reach = 18 * (1000 / map.clientWidth);
    let best = -1;
    let least = reach * reach;
    places.forEach(([x, y], k) => {
      const gap = (x - at.x) ** 2 + (y - at.y) ** 2;
      if (gap < least && (chosenClass === null || values.classOf[k] === chosenClass)) {
        least = gap;
        best = k;
      }
    });
    return best;
  }

  map.addEventListener("pointermove", (event) => {
    const k = nearest(event);
    mark(k < 0 ? found : [k]);
    if (k >= 0) said.textContent = `${values.terms[k]}: chosen for ${nameOf(k)}`;
  });
  map.addEventListener("pointerdown", (event) => {
    const k = nearest(event);
    if (k >= 0) {
      mark([k]);
      said.textContent = `${values.terms[k]}: chosen for ${nameOf(k)}`;
    }
  });
  map.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") mark(found);
  });
  thumbs.forEach((thumb, k) => thumb.addEventListener("click", () => move(k)));
  chips.forEach((chip, j) => chip.addEventListener("click", () => chooseClass(j)));
  find.addEventListener("input", search);
})();
