// Charts in SVG, drawn to the width that they have: lines that hold their value until the next, and bars above and below a
// middle. They know numbers and labels, and no sport. What they compute is separate from what they draw.

import { el, setAttribute, setText, svg } from "./view.js";

// More points of one line than a screen has pixels.
const POINTS_MAX = 1500;
const MARGIN = { top: 14, right: 44, bottom: 20, left: 8 };

/** A line through time: pairs of a time and a value, `null` while there is none. It stays bounded by thinning its older half. */
export class Line {
  points = [];

  /** Adds a value; one that is older than the last is ignored, and one that is equal to it adds nothing. */
  add(at, value) {
    const last = this.points.at(-1);
    if (last !== undefined && (at < last[0] || value === last[1])) return false;
    if (last !== undefined && at === last[0]) this.points.pop();
    this.points.push([at, value]);
    if (this.points.length > POINTS_MAX) this.#thin();
    return true;
  }

  /** Puts the past before what it has; where both know a time, what it has stays. */
  prepend(points) {
    const first = this.points[0]?.[0] ?? Infinity;
    const own = this.points;
    this.points = [];
    for (const [at, value] of points) if (at < first) this.add(at, value);
    for (const [at, value] of own) this.add(at, value);
  }

  get last() {
    return this.points.at(-1)?.[1] ?? undefined;
  }

  /** Every second point of the older half; gaps stay, because a price that was not on offer must not look as if it was. */
  #thin() {
    const half = Math.floor(this.points.length / 2);
    this.points = this.points.filter(([, value], i) => i >= half || value === null || i % 2 === 0);
    if (this.points.length > POINTS_MAX) this.points = this.points.slice(-POINTS_MAX);
  }
}

/** Round values between two, about as many as asked. */
export function ticks(from, to, count) {
  const rough = (to - from) / Math.max(1, count);
  if (!(rough > 0) || !Number.isFinite(rough)) return [];
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const found = [];
  for (let n = Math.ceil(from / step); n * step <= to; n += 1) found.push(Number((n * step).toPrecision(12)));
  return found;
}

/** Prices at which an axis of odds has lines: the closer, the shorter the odds. */
export function priceTicks(from, to) {
  const all = [1.01, 1.1, 1.25, 1.5, 2, 3, 4, 6, 10, 20, 50, 100, 200, 500, 1000];
  return all.filter((price) => price >= from && price <= to);
}

/** The path of a line: horizontal until the next value, broken where there is none. */
export function stepPath(points, x, y, until) {
  let path = "";
  let isDown = false;
  for (const [at, value] of points) {
    if (value === null) {
      if (isDown) path += `H${x(at).toFixed(1)}`;
      isDown = false;
    } else {
      path += isDown ? `H${x(at).toFixed(1)}V${y(value).toFixed(1)}` : `M${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
      isDown = true;
    }
  }
  return isDown ? `${path}H${x(until).toFixed(1)}` : path;
}

/** The value of a line at a time: that of the last point before it. */
export function valueAt(points, at) {
  let value;
  for (const [time, next] of points) {
    if (time > at) break;
    value = next;
  }
  return value ?? undefined;
}

/** What charts share: the drawing that fills its place, and drawing again when the place changes. */
class Chart {
  #height;
  width = 0;

  constructor(label, height) {
    this.#height = height;
    this.drawing = svg("svg", { role: "img", "aria-label": label, height });
    this.legend = el("p", { class: "legend" });
    this.node = el("div", { class: "chart" }, this.legend, this.drawing);
    if (typeof ResizeObserver !== "undefined") {
      new ResizeObserver(([entry]) => {
        const width = Math.round(entry.contentRect.width);
        if (width === this.width || width === 0) return;
        this.width = width;
        this.draw();
      }).observe(this.drawing.parentNode);
    }
  }

  get height() {
    return this.#height;
  }

  clear() {
    this.drawing.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.drawing.replaceChildren();
  }
}

/**
 * Lines over time or over numbers. `show({lines, from, to, marks, label})`: `lines` of `{key, name, points}`, with the key as their
 * class; `marks` of `{at, label, side}`. `axis` is `price` (logarithmic) or `even` (around zero).
 */
export class LineChart extends Chart {
  #axis;
  #format;
  #formatX;
  #shown;
  #cursor = svg("line", { class: "cursor" });
  #pointed;

  constructor(label, { axis = "even", height = 190, format = String, formatX = String } = {}) {
    super(label, height);
    this.#axis = axis;
    this.#format = format;
    this.#formatX = formatX;
    this.drawing.addEventListener("pointermove", (move) => this.#point(move.offsetX));
    this.drawing.addEventListener("pointerleave", () => this.#point(undefined));
  }

  show(shown) {
    this.#shown = shown;
    if (shown.label) setAttribute(this.drawing, "aria-label", shown.label);
    this.draw();
  }

  draw() {
    if (this.#shown === undefined || this.width === 0) return;
    this.clear();
    const { lines, from, to, marks = [] } = this.#shown;
    const [x, y, values] = this.#scales();
    const right = this.width - MARGIN.right;
    for (const value of values) {
      this.drawing.append(
        svg("line", { class: value === 0 ? "zero" : "grid", x1: MARGIN.left, x2: right, y1: y(value), y2: y(value) }),
        svg("text", { class: "tick", x: right + 6, y: y(value) + 4 }, this.#format(value)));
    }
    for (const at of this.#columns(from, to)) {
      this.drawing.append(svg("text", { class: "tick", x: x(at), y: this.height - 5, "text-anchor": "middle" }, this.#formatX(at)));
    }
    for (const { at, side, label } of marks) {
      this.drawing.append(svg("g", { class: "event", "data-side": side },
        svg("title", {}, label),
        svg("line", { x1: x(at), x2: x(at), y1: MARGIN.top - 4, y2: this.height - MARGIN.bottom }),
        svg("circle", { cx: x(at), cy: MARGIN.top - 6, r: 4 })));
    }
    for (const { key, points } of lines) {
      this.drawing.append(svg("path", { class: "series", "data-series": key, d: stepPath(points, x, y, to) }));
    }
    this.drawing.append(this.#cursor);
    this.#point(this.#pointed);
  }

  /** Where a place of the axes is on the drawing, and the values with a line. */
  #scales() {
    const { lines, from, to } = this.#shown;
    const known = lines.flatMap(({ points }) => points.map(([, value]) => value)).filter((value) => value !== null);
    let [low, high] = [Math.min(...known), Math.max(...known)];
    const isPrice = this.#axis === "price";
    if (isPrice) [low, high] = [Math.max(1.001, low * 0.96), high * 1.04];
    else [low, high] = [Math.min(low, -2) - 1, Math.max(high, 2) + 1];
    const scale = isPrice ? (value) => Math.log(value) : (value) => value;
    const [bottom, top] = [this.height - MARGIN.bottom, MARGIN.top];
    const y = (value) => bottom - ((scale(value) - scale(low)) / (scale(high) - scale(low))) * (bottom - top);
    const x = (at) => MARGIN.left + ((at - from) / Math.max(1, to - from)) * (this.width - MARGIN.left - MARGIN.right);
    const all = isPrice ? priceTicks(low, high) : ticks(low, high, 4);
    // Labels that would touch are left out.
    const values = all.filter((value, i) => i === 0 || Math.abs(y(value) - y(all[i - 1])) > 14);
    return [x, y, values];
  }

  #columns(from, to) {
    const count = Math.max(2, Math.floor(this.width / 110));
    return Array.from({ length: count }, (_, i) => from + ((to - from) * (i + 0.5)) / count);
  }

  /** The values where the pointer is, or the newest. */
  #point(offset) {
    this.#pointed = offset;
    if (this.#shown === undefined) return;
    const { lines, from, to } = this.#shown;
    const inner = this.width - MARGIN.left - MARGIN.right;
    const at = offset === undefined ? to : from + ((Math.min(Math.max(offset, MARGIN.left), MARGIN.left + inner) - MARGIN.left) / inner) * (to - from);
    const parts = lines.map(({ key, name, points }) => {
      const value = valueAt(points, at);
      return [key, `${name} ${value === undefined ? "–" : this.#format(value)}`];
    });
    const spans = this.legend.querySelectorAll("span");
    if (spans.length !== parts.length + 1) {
      this.legend.replaceChildren(...parts.map(([key]) => el("span", { "data-series": key })), el("span", { class: "at" }));
    }
    parts.forEach(([key, text], i) => {
      setAttribute(this.legend.children[i], "data-series", key);
      setText(this.legend.children[i], text);
    });
    setText(this.legend.lastElementChild, offset === undefined ? "" : this.#formatX(at));
    const cursor = MARGIN.left + ((at - from) / Math.max(1, to - from)) * inner;
    for (const [name, value] of Object.entries({ x1: cursor, x2: cursor, y1: MARGIN.top, y2: this.height - MARGIN.bottom })) {
      this.#cursor.setAttribute(name, value);
    }
    setAttribute(this.#cursor, "data-shown", offset === undefined ? undefined : "yes");
  }
}

/** Bars of one side above and of the other below a middle: `show({bars, to, marks, label})`, `bars` of `{at, value}` from -100 to 100. */
export class BarChart extends Chart {
  #shown;

  constructor(label, { height = 150 } = {}) {
    super(label, height);
  }

  show(shown) {
    this.#shown = shown;
    if (shown.label) setAttribute(this.drawing, "aria-label", shown.label);
    this.draw();
  }

  draw() {
    if (this.#shown === undefined || this.width === 0) return;
    this.clear();
    const { bars, to, marks = [] } = this.#shown;
    const left = MARGIN.left;
    const inner = this.width - 2 * left;
    const middle = this.height / 2 - 4;
    const half = middle - 14;
    const x = (minute) => left + (minute / to) * inner;
    const width = Math.max(1, inner / to - 1.5);
    for (const minute of [0, 15, 30, 45, 60, 75, 90, 105, 120].filter((it) => it <= to)) {
      const anchor = minute === 0 ? "start" : minute === to ? "end" : "middle";
      this.drawing.append(
        svg("line", { class: minute % 45 === 0 ? "zero" : "grid", x1: x(minute), x2: x(minute), y1: 8, y2: this.height - 18 }),
        svg("text", { class: "tick", x: x(minute), y: this.height - 4, "text-anchor": anchor }, `${minute}′`));
    }
    for (const { at, value } of bars) {
      const size = (Math.min(100, Math.abs(value)) / 100) * half;
      this.drawing.append(svg("rect", {
        class: "bar-of", "data-side": value >= 0 ? "home" : "away", x: x(at - 1) + 0.75, width, rx: 1,
        y: (value >= 0 ? middle - size : middle).toFixed(1), height: Math.max(0.5, size).toFixed(1),
      }));
    }
    this.drawing.append(svg("line", { class: "zero", x1: left, x2: left + inner, y1: middle, y2: middle }));
    for (const { at, side, label, kind } of marks) {
      this.drawing.append(svg("g", { class: "event", "data-side": side, "data-kind": kind },
        svg("title", {}, label),
        svg("circle", { cx: x(at - 0.5), cy: side === "home" ? 8 : this.height - 24, r: 4.5 })));
    }
  }
}
