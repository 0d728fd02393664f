// Points on a canvas with zoom, movement and selection by mouse, touch and keyboard.
import { h } from "./components.js";

const MARGIN = 0.04; // share of the drawing
const POINT_RADIUS = 18; // pixels within which a point is selected
const MAX_NAMES = 160;
const NAME_CELL = 14; // pixels of the grid that keeps names apart

export class Plot {
  // points are {x, y} from 0 to 1 with y upwards; look(k) is {color, size, isOn}, or null if hidden
  constructor({ points, label, look, name, onpoint, onchoose, axes = null }) {
    Object.assign(this, { points, look, name, onpoint, onchoose, axes });
    this.zoom = 1;
    this.shift = [0, 0];
    this.selected = -1;
    this.canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": `${label}. Arrow keys move, plus and minus zoom, 0 shows all.` });
    const button = (sign, title, action) => h("button", { type: "button", "aria-label": title, title, onclick: action }, sign);
    this.element = h("div", { class: "plot" }, this.canvas, h("div", { class: "zoom" },
      button("+", "Zoom in", () => this.zoomBy(1.5)), button("\u2212", "Zoom out", () => this.zoomBy(1 / 1.5)),
      button("\u25a1", "Show all", () => this.reset())));
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  listen() {
    const { canvas } = this;
    const pointers = new Map(); // positions of pressed pointers
    let spread = 0; // distance of two pointers
    const positionOf = (event) => [event.offsetX, event.offsetY];
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, positionOf(event));
      this.isDragged = false;
    });
    canvas.addEventListener("pointermove", (event) => {
      const position = positionOf(event);
      const previous = pointers.get(event.pointerId);
      if (!previous) { this.select(this.nearest(position)); return; }
      pointers.set(event.pointerId, position);
      const [dx, dy] = [position[0] - previous[0], position[1] - previous[1]];
      if (Math.abs(dx) + Math.abs(dy) > 1) this.isDragged = true;
      if (pointers.size === 1) this.shift = [this.shift[0] + dx, this.shift[1] + dy];
      else {
        const [a, b] = [...pointers.values()];
        const distance = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (spread) this.zoomBy(distance / spread, [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]);
        spread = distance;
      }
      this.draw();
    });
    const release = (event) => {
      if (pointers.delete(event.pointerId) && !this.isDragged && event.type === "pointerup") {
        const k = this.nearest(positionOf(event));
        this.select(k);
        if (k >= 0) this.onchoose?.(k);
      }
      spread = 0;
    };
    canvas.addEventListener("pointerup", release);
    canvas.addEventListener("pointercancel", release);
    canvas.addEventListener("pointerleave", (event) => { if (!pointers.size && event.pointerType === "mouse") this.select(-1); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 400), positionOf(event));
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => {
      const steps = { ArrowLeft: [60, 0], ArrowRight: [-60, 0], ArrowUp: [0, 60], ArrowDown: [0, -60] };
      if (steps[event.key]) this.shift = [this.shift[0] + steps[event.key][0], this.shift[1] + steps[event.key][1]];
      else if (event.key === "+" || event.key === "=") this.zoomBy(1.5);
      else if (event.key === "-") this.zoomBy(1 / 1.5);
      else if (event.key === "0") this.reset();
      else return;
      event.preventDefault();
      this.draw();
    });
  }

  zoomBy(factor, center = [this.width / 2, this.height / 2]) {
    const zoom = Math.min(Math.max(this.zoom * factor, 1), 60);
    const ratio = zoom / this.zoom;
    this.shift = this.shift.map((offset, k) => center[k] - (center[k] - offset) * ratio);
    this.zoom = zoom;
    if (zoom === 1) this.shift = [0, 0];
    this.draw();
  }

  reset() { this.zoom = 1; this.shift = [0, 0]; this.draw(); }

  // zoom in with a point at the center
  show(k) {
    this.zoom = Math.max(this.zoom, 4);
    this.shift = [0, 0];
    const [x, y] = this.placeOf(this.points[k]);
    this.shift = [this.width / 2 - x, this.height / 2 - y];
    this.selected = k;
    this.draw();
  }

  select(k) {
    if (k === this.selected) return;
    this.selected = k;
    this.onpoint?.(k);
    this.draw();
  }

  placeOf({ x, y }) {
    const inner = 1 - 2 * MARGIN;
    return [
      (MARGIN + x * inner) * this.width * this.zoom + this.shift[0],
      (MARGIN + (1 - y) * inner) * this.height * this.zoom + this.shift[1],
    ];
  }

  nearest([x, y]) {
    let best = -1;
    let smallest = POINT_RADIUS ** 2;
    this.points.forEach((point, k) => {
      if (!this.look(k)) return;
      const [pointX, pointY] = this.placeOf(point);
      const squaredDistance = (pointX - x) ** 2 + (pointY - y) ** 2;
      if (squaredDistance < smallest) { smallest = squaredDistance; best = k; }
    });
    return best;
  }

  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => this.drawNow());
  }

  drawNow() {
    const { canvas } = this;
    const width = this.element.clientWidth;
    if (!width) return;
    this.width = width;
    this.height = Math.min(Math.max(width * 0.72, 320), innerHeight * 0.8);
    const ratio = devicePixelRatio || 1;
    canvas.width = width * ratio;
    canvas.height = this.height * ratio;
    canvas.style.height = `${this.height}px`;
    const pen = canvas.getContext("2d");
    const style = getComputedStyle(canvas);
    const [ink, paper, quiet] = ["--ink", "--paper", "--quiet"].map((name) => style.getPropertyValue(name));
    pen.scale(ratio, ratio);
    pen.clearRect(0, 0, width, this.height);
    pen.font = `12px ${style.fontFamily}`;
    pen.textBaseline = "middle";
    if (this.axes) this.drawAxes(pen, quiet);
    const shown = [];
    this.points.forEach((point, k) => {
      const look = this.look(k);
      if (!look) return;
      const [x, y] = this.placeOf(point);
      if (x < -9 || y < -9 || x > width + 9 || y > this.height + 9) return;
      pen.globalAlpha = look.isOn === false ? 0.12 : 0.85;
      pen.fillStyle = look.isOn === false ? quiet : look.color;
      pen.beginPath();
      pen.arc(x, y, look.size ?? 3, 0, 7);
      pen.fill();
      if (look.isOn !== false) shown.push([k, x, y]);
    });
    pen.globalAlpha = 1;
    this.drawNames(pen, shown, ink, paper);
  }

  drawAxes(pen, quiet) {
    pen.fillStyle = quiet;
    pen.textAlign = "right";
    pen.fillText(this.axes.x, this.width - 8, this.height - 10);
    pen.textAlign = "left";
    pen.fillText(this.axes.y, 8, 12);
  }

  // names of points that do not overlap, in order; the name of the selected point is always shown
  drawNames(pen, shown, ink, paper) {
    const occupied = new Set(); // cells of a grid
    const selected = shown.filter(([k]) => k === this.selected);
    const cellOf = (value) => Math.floor(value / NAME_CELL);
    let nNames = 0;
    pen.textAlign = "left";
    pen.lineJoin = "round";
    for (const [k, x, y] of [...selected, ...shown]) {
      if (nNames > MAX_NAMES) break;
      const name = this.name(k);
      const width = pen.measureText(name).width;
      const left = x + 6 + width > this.width ? x - 6 - width : x + 6;
      const cells = [];
      for (let column = cellOf(left); column <= cellOf(left + width); column += 1) {
        cells.push(`${column},${cellOf(y - 7)}`, `${column},${cellOf(y + 7)}`);
      }
      const isSelected = k === this.selected;
      if (!isSelected && cells.some((cell) => occupied.has(cell))) continue;
      cells.forEach((cell) => occupied.add(cell));
      pen.strokeStyle = paper;
      pen.lineWidth = 3;
      pen.strokeText(name, left, y);
      pen.fillStyle = ink;
      pen.fillText(name, left, y);
      if (isSelected) {
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.beginPath();
        pen.arc(x, y, 6, 0, 7);
        pen.stroke();
      }
      nNames += 1;
    }
  }
}
