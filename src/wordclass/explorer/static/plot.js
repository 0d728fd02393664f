// Points on a canvas, to zoom into, move, and point at: by mouse, fingers, and keys.
import { h } from "./parts.js";

const SIDE = 0.04; // of the drawing, left free

export class Plot {
  // points: {x, y} from 0 to 1, y upwards; look(k): {color, size, isOn} or null where it is hidden
  constructor({ points, label, look, name, onpoint, onchoose, axes = null }) {
    Object.assign(this, { points, look, name, onpoint, onchoose, axes });
    this.zoom = 1;
    this.shift = [0, 0];
    this.at = -1;
    this.canvas = h("canvas", { tabindex: "0", role: "img", "aria-label": `${label}. Arrow keys move, plus and minus zoom, 0 shows all.` });
    const button = (sign, told, action) => h("button", { type: "button", "aria-label": told, title: told, onclick: action }, sign);
    this.element = h("div", { class: "plot" }, this.canvas, h("div", { class: "zoom" },
      button("+", "Zoom in", () => this.zoomBy(1.5)), button("\u2212", "Zoom out", () => this.zoomBy(1 / 1.5)),
      button("\u25a1", "Show all", () => this.reset())));
    this.listen();
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  listen() {
    const { canvas } = this;
    const fingers = new Map();
    let gap = 0;
    const place = (event) => [event.offsetX, event.offsetY];
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      fingers.set(event.pointerId, place(event));
      this.moved = false;
    });
    canvas.addEventListener("pointermove", (event) => {
      const now = place(event);
      const before = fingers.get(event.pointerId);
      if (!before) { this.point(this.nearest(now)); return; }
      fingers.set(event.pointerId, now);
      const [dx, dy] = [now[0] - before[0], now[1] - before[1]];
      if (Math.abs(dx) + Math.abs(dy) > 1) this.moved = true;
      if (fingers.size === 1) this.shift = [this.shift[0] + dx, this.shift[1] + dy];
      else {
        const [a, b] = [...fingers.values()];
        const wide = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (gap) this.zoomBy(wide / gap, [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]);
        gap = wide;
      }
      this.draw();
    });
    const lift = (event) => {
      if (fingers.delete(event.pointerId) && !this.moved && event.type === "pointerup") {
        const k = this.nearest(place(event));
        this.point(k);
        if (k >= 0) this.onchoose?.(k);
      }
      gap = 0;
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
    canvas.addEventListener("pointerleave", (event) => { if (!fingers.size && event.pointerType === "mouse") this.point(-1); });
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      this.zoomBy(Math.exp(-event.deltaY / 400), place(event));
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

  zoomBy(factor, around = [this.width / 2, this.height / 2]) {
    const zoom = Math.min(Math.max(this.zoom * factor, 1), 60);
    const real = zoom / this.zoom;
    this.shift = this.shift.map((each, k) => around[k] - (around[k] - each) * real);
    this.zoom = zoom;
    if (zoom === 1) this.shift = [0, 0];
    this.draw();
  }

  reset() { this.zoom = 1; this.shift = [0, 0]; this.draw(); }

  // zooms so that a point is in the middle
  show(k) {
    this.zoom = Math.max(this.zoom, 4);
    this.shift = [0, 0];
    const [x, y] = this.placeOf(this.points[k]);
    this.shift = [this.width / 2 - x, this.height / 2 - y];
    this.at = k;
    this.draw();
  }

  point(k) {
    if (k === this.at) return;
    this.at = k;
    this.onpoint?.(k);
    this.draw();
  }

  placeOf({ x, y }) {
    const inner = 1 - 2 * SIDE;
    return [
      (SIDE + x * inner) * this.width * this.zoom + this.shift[0],
      (SIDE + (1 - y) * inner) * this.height * this.zoom + this.shift[1],
    ];
  }

  nearest([x, y]) {
    let best = -1;
    let least = 18 ** 2;
    this.points.forEach((point, k) => {
      if (!this.look(k)) return;
      const [a, b] = this.placeOf(point);
      const gap = (a - x) ** 2 + (b - y) ** 2;
      if (gap < least) { least = gap; best = k; }
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
    const [ink, paper, quiet] = ["--ink", "--paper", "--quiet"].map((each) => style.getPropertyValue(each));
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
    this.write(pen, shown, ink, paper);
  }

  drawAxes(pen, quiet) {
    pen.fillStyle = quiet;
    pen.textAlign = "right";
    pen.fillText(this.axes.x, this.width - 8, this.height - 10);
    pen.textAlign = "left";
    pen.fillText(this.axes.y, 8, 12);
  }

  // names of points where there is room, the first ones first; always that of the one pointed at
  write(pen, shown, ink, paper) {
    const cells = new Set();
    const pointed = shown.filter(([k]) => k === this.at);
    let n = 0;
    pen.textAlign = "left";
    pen.lineJoin = "round";
    for (const [k, x, y] of [...pointed, ...shown]) {
      if (n > 160) break;
      const name = this.name(k);
      const wide = pen.measureText(name).width;
      const left = x + 6 + wide > this.width ? x - 6 - wide : x + 6;
      const columns = [];
      for (let c = Math.floor(left / 14); c <= Math.floor((left + wide) / 14); c += 1) {
        columns.push(`${c},${Math.floor((y - 7) / 14)}`, `${c},${Math.floor((y + 7) / 14)}`);
      }
      const isPointed = k === this.at;
      if (!isPointed && columns.some((each) => cells.has(each))) continue;
      columns.forEach((each) => cells.add(each));
      pen.strokeStyle = paper;
      pen.lineWidth = 3;
      pen.strokeText(name, left, y);
      pen.fillStyle = ink;
      pen.fillText(name, left, y);
      if (isPointed) {
        pen.strokeStyle = ink;
        pen.lineWidth = 2;
        pen.beginPath();
        pen.arc(x, y, 6, 0, 7);
        pen.stroke();
      }
      n += 1;
    }
  }
}
