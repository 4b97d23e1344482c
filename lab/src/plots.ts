// Plots of curves over time, bars, and distributions.

import uPlot from "uplot";
import { el, rate, restyle, write } from "./dom";
import { colour, css } from "./style-data";

export interface Line {
  label: string;
  values: ArrayLike<number>;
  colour: string;
  dash?: number[];
  width?: number;
  /** Whether it belongs to the second axis. */
  right?: boolean;
  /** Whether it keeps its value until the next sample. */
  steps?: boolean;
}

export interface Picture {
  time: ArrayLike<number>;
  lines: Line[];
}

export interface Axis {
  unit: string;
  right?: string;
  low?: number;
  high?: number;
}

/** The places of the values of a time axis on a canvas, of all its lines the same. */
class Places {
  private key = "";
  private times: ArrayLike<number> = [];
  private at = new Float64Array(0);

  of(u: uPlot, times: ArrayLike<number>): Float64Array {
    const { min = 0, max = 1 } = u.scales.x!;
    const { left, width } = u.bbox;
    const key = `${left} ${width} ${min} ${max}`;
    if (key === this.key && times === this.times) return this.at;
    [this.key, this.times] = [key, times];
    const scale = width / (max! - min!);
    return (this.at = Float64Array.from(times, (time) => left + (time - min!) * scale));
  }
}

/**
 * Strokes a line. Without a graphics processor, lines of one device pixel cost a tenth of wider ones. On screens of
 * ordinary resolution a wider line is therefore drawn as two thin ones, half a pixel apart.
 */
function stroke(u: uPlot, { values, colour, dash, width = 1.5, steps, right }: Line, at: Float64Array): void {
  const { ctx: g, bbox } = u;
  const { min = 0, max = 1 } = u.scales[right ? "right" : "y"]!;
  const bottom = bbox.top + bbox.height;
  const scale = bbox.height / (max! - min!);
  const path = new Path2D();
  let last = NaN; // after a gap the line begins anew
  for (let i = 0; i < at.length; i++) {
    const y = bottom - (values[i]! - min!) * scale;
    if (Number.isNaN(last))
      path.moveTo(at[i]!, y); // without effect if there is no number
    else {
      if (steps) path.lineTo(at[i]!, last);
      path.lineTo(at[i]!, y);
    }
    last = y;
  }
  const fine = uPlot.pxRatio >= 1.5;
  g.save();
  g.strokeStyle = colour;
  g.lineJoin = "round";
  g.lineWidth = fine ? width * uPlot.pxRatio : 1;
  if (dash) g.setLineDash(dash.map((one) => one * uPlot.pxRatio));
  g.stroke(path);
  if (!fine && width > 1) {
    g.translate(0, width - 1);
    g.stroke(path);
  }
  g.restore();
}

/** The end of an axis that has to show `most`, such that it seldom moves while values change. */
function roundTop(most: number): number {
  if (!(most > 0)) return 1;
  const step = 10 ** Math.floor(Math.log10(most)) / (most / 10 ** Math.floor(Math.log10(most)) < 2 ? 5 : 2);
  return step * Math.ceil((1.02 * most) / step);
}

const FONT = "11px system-ui, sans-serif";
const GAP = 5;

export class LinePlot {
  readonly root: HTMLElement;
  private readonly holder = el("div", { class: "canvas" });
  private readonly head = el("div", { class: "now", style: "display:none" });
  private readonly said = el("div", { class: "note", hidden: true });
  /** A picture of axes and grid, which is drawn anew only when they change: text costs more than curves. */
  private readonly axes = document.createElement("canvas");
  private drawnAxes = "";
  private readonly ticks: [number[], string[]][] = [];
  private readonly places = new Places();
  private plot: uPlot | undefined;
  /** Whether the plot has a second axis. */
  private hadRight: boolean | undefined;
  picture: Picture = { time: [], lines: [] };
  private end_s = 1;
  private isSeen = true;
  private isStale = false;

  constructor(
    readonly title: string,
    readonly axis: Axis,
    private readonly at: (time_s: number) => void,
    about: string,
    /** Returns further text about a sample. */
    private readonly note?: (sample: number) => string,
  ) {
    this.root = el(
      "figure",
      { class: "plot", role: "img", "aria-label": `${title}, ${axis.unit}, over time` },
      el(
        "figcaption",
        { title: about },
        title,
        el("small", {}, ` [${axis.unit}${axis.right ? `; dashed: ${axis.right}` : ""}]`),
      ),
      this.holder,
      this.said,
    );
    new ResizeObserver(() => this.resize()).observe(this.holder);
    // A plot that is not on the screen is drawn when it comes there.
    new IntersectionObserver(
      (seen) => {
        this.isSeen = seen.at(-1)!.isIntersecting;
        if (this.isSeen) this.catchUp();
      },
      { rootMargin: "150px" },
    ).observe(this.root);
  }

  private size(): { width: number; height: number } {
    return { width: Math.max(160, this.holder.clientWidth), height: this.holder.clientHeight || 150 };
  }

  private resize(): void {
    if (this.plot && this.plot.width !== this.size().width) this.plot.setSize(this.size());
  }

  /** Shows other curves on a time axis that reaches to the end of the run. */
  show(picture: Picture, end_s: number): void {
    this.picture = picture;
    this.end_s = end_s;
    // A plot without data is hidden.
    this.root.hidden = !picture.lines.some((line) => Array.prototype.some.call(line.values, Number.isFinite));
    if (this.isSeen || this.root.hidden || !this.plot) this.draw();
    else this.isStale = true;
  }

  /** Draws what was not drawn because it was not on the screen. */
  catchUp(): void {
    if (this.isStale) this.draw();
  }

  private draw(): void {
    this.isStale = false;
    const { lines, time } = this.picture;
    const data: ArrayLike<number>[] = [time, ...lines.map((line) => line.values)];
    const hasRight = lines.some((line) => line.right);
    // Creating a plot takes several times as long as showing other curves in an existing one.
    const isSame = this.plot !== undefined && this.hadRight === hasRight;
    if (!isSame) {
      this.hadRight = hasRight;
      this.plot?.destroy();
      this.drawnAxes = "";
      this.plot = new uPlot(this.options(hasRight), data as uPlot.AlignedData, this.holder);
      this.plot.over.append(this.head);
      const over = this.plot.over;
      over.addEventListener("click", (event) => {
        if (this.plot) this.at(Math.max(0, this.plot.posToVal(event.offsetX, "x")));
      });
    }
    const plot = this.plot!;
    plot.batch(() => {
      if (isSame) {
        while (plot.series.length <= lines.length) plot.addSeries(this.series(plot.series.length));
        plot.series.forEach((one, i) => {
          const show = i <= lines.length;
          if (one.show !== show) plot.setSeries(i, { show });
        });
        while (data.length < plot.series.length) data.push([]);
        plot.setData(data as uPlot.AlignedData, false);
      }
      plot.setScale("x", { min: 0, max: this.end_s });
      plot.setScale("y", { min: this.axis.low ?? 0, max: this.axis.high ?? this.top(false) });
      if (hasRight) plot.setScale("right", { min: 0, max: this.top(true) });
    });
  }

  /** The end of the left or right axis. */
  private top(right: boolean): number {
    let most = 0;
    for (const { values, right: isRight } of this.picture.lines) {
      if (Boolean(isRight) !== right) continue;
      for (let i = 0; i < values.length; i++) if (values[i]! > most && values[i]! < Infinity) most = values[i]!;
    }
    return roundTop(most);
  }

  redraw(): void {
    this.hadRight = undefined;
    this.show(this.picture, this.end_s);
  }

  /** Marks the current time. */
  now(time_s: number, visible: boolean): void {
    if (!this.plot) return;
    const display = visible ? "" : "none";
    if (this.head.style.display !== display) this.head.style.display = display;
    if (visible) this.head.style.transform = `translateX(${this.plot.valToPos(time_s, "x")}px)`;
  }

  private series(index: number): uPlot.Series {
    const line = (): Line | undefined => this.picture.lines[index - 1];
    return {
      stroke: () => line()?.colour ?? "",
      auto: false,
      points: { show: false },
      // Draws the line itself: the curves are within the axes, and clipping each of them takes longer than to draw it.
      paths: (u) => {
        if (line()) stroke(u, line()!, this.places.of(u, this.picture.time));
        return null;
      },
    };
  }

  private options(hasRight: boolean): uPlot.Options {
    const noted =
      (axis: number, word: (tick: number) => string) =>
      (_: uPlot, ticks: number[]): string[] => {
        const words = ticks.map(word);
        this.ticks[axis] = [ticks, words];
        return words;
      };
    const short = (tick: number): string => String(Number(tick.toPrecision(6)));
    this.ticks.length = 0;
    const fixed: uPlot.Scale = { auto: false, range: (_, min, max) => [min ?? 0, max ?? 1] };
    return {
      ...this.size(),
      legend: { show: false },
      padding: [6, 19, 0, 0], // half of the last label is outside the plot
      cursor: {
        sync: { key: "lab" },
        drag: { x: false, y: false },
        points: { size: 5 },
        y: false,
        dataIdx: (_, series, index) =>
          (series === 0 || Number.isFinite(this.picture.lines[series - 1]?.values[index]) ? index : null) as number,
      },
      scales: { x: { ...fixed, time: false }, y: fixed, right: fixed },
      drawOrder: ["series"] as unknown as uPlot.DrawOrderKey[],
      axes: [
        { size: 20, values: noted(0, (tick) => `${short(tick)} s`) },
        { size: 40, values: noted(1, short) },
        ...(hasRight ? [{ scale: "right", side: 1 as const, size: 36, values: noted(2, short) }] : []),
      ],
      series: [{}, ...this.picture.lines.map((_, i) => this.series(i + 1))],
      hooks: { setCursor: [(u) => this.readOut(u)], drawClear: [(u) => this.drawAxes(u)] },
    };
  }

  /** Draws axes and grid. */
  private drawAxes(u: uPlot): void {
    this.renewAxes(u);
    u.ctx.drawImage(this.axes, 0, 0);
  }

  private renewAxes(u: uPlot): void {
    const { canvas } = u.ctx;
    const { left, top, width, height } = u.bbox;
    const ink = css("--ink-2");
    const places = this.ticks.map(([ticks], axis) =>
      ticks.map((tick) => Math.round(u.valToPos(tick, ["x", "y", "right"][axis]!, true))),
    );
    const key = JSON.stringify([canvas.width, canvas.height, u.bbox, places, this.ticks, ink, uPlot.pxRatio]);
    if (key === this.drawnAxes) return;
    this.drawnAxes = key;
    this.axes.width = canvas.width;
    this.axes.height = canvas.height;
    const g = this.axes.getContext("2d")!;
    const gap = GAP * uPlot.pxRatio;
    g.font = FONT.replace("11", String(Math.round(11 * uPlot.pxRatio)));
    g.fillStyle = css("--grid");
    const line = Math.max(1, Math.round(uPlot.pxRatio));
    for (const at of places[0] ?? []) g.fillRect(at, top, line, height);
    for (const at of places[1] ?? []) g.fillRect(left, at, width, line);
    g.fillStyle = ink;
    this.ticks.forEach(([, words], axis) =>
      words.forEach((word, i) => {
        const at = places[axis]![i]!;
        g.textAlign = axis === 0 ? "center" : axis === 1 ? "right" : "left";
        g.textBaseline = axis === 0 ? "top" : "middle";
        if (axis === 0) g.fillText(word, at, top + height + gap);
        else g.fillText(word, axis === 1 ? left - gap : left + width + gap, at);
      }),
    );
  }

  /** Shows the values at the pointer beside the title. */
  private readOut(u: uPlot): void {
    const caption = this.root.querySelector("figcaption")!;
    caption.querySelector("output")?.remove();
    this.said.hidden = true;
    const index = u.cursor.idx;
    if (index === null || index === undefined || (u.cursor.left ?? -1) < 0) return;
    const isHovered = u.over.matches(":hover");
    const known = this.picture.lines.filter((line) => Number.isFinite(line.values[index]));
    if (isHovered) {
      // The curve at the pointer comes first.
      const away = (line: Line): number =>
        Math.abs(u.valToPos(line.values[index]!, line.right ? "right" : "y") - (u.cursor.top ?? 0));
      known.sort((a, b) => away(a) - away(b));
    }
    const parts = known.slice(0, 8).map((line) => `${line.label} ${Number(line.values[index]!.toPrecision(3))}`);
    const note = isHovered ? (this.note?.(index) ?? "") : "";
    this.said.textContent = note;
    this.said.hidden = note === "";
    caption.append(el("output", {}, `${Number(this.picture.time[index]).toPrecision(4)} s: ${parts.join(", ")}`));
  }
}

export interface Bar {
  name: string;
  value: number;
  pinned?: number;
  flow: number;
}

/** The goodput of each flow as a bar. */
export class Bars {
  readonly root = el("figure", { class: "plot bars" });
  private readonly list = el("ul", { "aria-label": "Goodput of each flow" });
  bars: Bar[] = [];
  private readonly until = el("small");

  constructor(private readonly toggled: (flow: number) => void) {
    this.root.append(
      el(
        "figcaption",
        {
          title:
            "New payload handed to the application per second of the measured time. Click a flow to show or hide its curves.",
        },
        "Goodput",
        this.until,
      ),
      this.list,
    );
  }

  show(bars: Bar[], chosen: Set<number>, until: string): void {
    this.bars = bars;
    write(this.until, until);
    const most = Math.max(1, ...bars.map((bar) => Math.max(bar.value, bar.pinned ?? 0)));
    if (this.list.childElementCount !== bars.length) {
      this.list.replaceChildren(
        ...bars.map((bar) =>
          el(
            "li",
            {},
            el("button", { type: "button", onclick: () => this.toggled(bar.flow) }, el("i"), el("span")),
            el(
              "div",
              { class: "track" },
              el("div", { class: "bar" }),
              el("div", { class: "pin", style: "display:none" }),
            ),
            el("output"),
          ),
        ),
      );
    }
    bars.forEach((bar, i) => {
      const row = this.list.children[i] as HTMLElement;
      const [button, track, value] = row.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
      const [fill, pin] = track.children as unknown as [HTMLElement, HTMLElement];
      const on = chosen.has(bar.flow);
      // During playback this runs sixty times a second, so only changes are written.
      const look = `${bar.name} ${on} ${colour(bar.flow)}`;
      if (row.dataset.look !== look) {
        row.dataset.look = look;
        button.children[1]!.textContent = bar.name;
        button.setAttribute("aria-pressed", String(on));
        button.title = `${on ? "hide" : "show"} the curves of ${bar.name}`;
        fill.style.background = (button.children[0] as HTMLElement).style.background = colour(bar.flow);
        fill.classList.toggle("off", !on);
      }
      write(value, rate(bar.value));
      const wide = `${((100 * bar.value) / most).toFixed(1)}%`;
      if (fill.style.width !== wide) fill.style.width = wide;
      const at = bar.pinned === undefined ? "" : `${((100 * bar.pinned) / most).toFixed(1)}%`;
      if (pin.dataset.at !== at) {
        pin.dataset.at = pin.style.left = at;
        pin.style.display = at === "" ? "none" : "";
      }
    });
  }
}

export interface Spread {
  name: string;
  flow: number;
  /** Minimum, median, 95th and 99th percentile, maximum [s]. */
  at: [number, number, number, number, number];
}

/**
 * A value rounded down or up to one of six in a decade, such that a logarithmic axis seldom moves while values change.
 */
function roundLog(value: number, round: (steps: number) => number): number {
  return 10 ** (round(6 * Math.log10(value)) / 6);
}

/** A layer of a background: a bar from one place to another [%], and `height` pixels high. */
function layer(fill: string, from: number, to: number, height: number): string {
  const wide = Math.max(0, to - from);
  return `linear-gradient(${fill},${fill}) ${wide < 100 ? ((100 * from) / (100 - wide)).toFixed(2) : 0}% 50%/${wide.toFixed(2)}% ${height}px no-repeat`;
}

/** A layer with a vertical line. */
function mark(fill: string, at: number, width: number, height: number): string {
  return `linear-gradient(${fill},${fill}) ${at.toFixed(2)}% 50%/${width}px ${height}px no-repeat`;
}

/** The distribution of a delay, for each flow. */
export class Spreads {
  readonly root = el("figure", { class: "plot spreads" });
  private readonly list: HTMLUListElement;
  private scaled = "";

  constructor(title: string, what: string) {
    this.list = el("ul", { "aria-label": `${what} of each flow` });
    const about = `${what}: a line from the shortest to the longest, thick to the 95th percentile, marks at the median and the 99th percentile.`;
    this.root.append(
      el("figcaption", { title: about }, title, el("small", {}, " min, median, 95 %, 99 %, max")),
      this.list,
      el("div", { class: "scale" }),
    );
  }

  show(spreads: Spread[]): void {
    const known = spreads.filter((one) => one.at[4] > 0);
    this.root.hidden = known.length === 0;
    const low = Math.log(roundLog(Math.min(...known.map((one) => one.at[0])) || 1e-3, Math.floor));
    const high = Math.log(roundLog(Math.max(...known.map((one) => one.at[4])) || 1, Math.ceil));
    const place = (x: number): number => (high > low ? (100 * (Math.log(x) - low)) / (high - low) : 50);
    while (this.list.childElementCount > known.length) this.list.lastElementChild!.remove();
    while (this.list.childElementCount < known.length) {
      this.list.append(el("li", {}, el("span"), el("div", { class: "track" }), el("output")));
    }
    const ink = css("--ink");
    const ms = (x: number): string => (x >= 1 ? `${x.toPrecision(3)} s` : `${Number((1e3 * x).toPrecision(3))} ms`);
    known.forEach(({ name, flow, at: [least, middle, most95, most99, most] }, i) => {
      const row = this.list.children[i] as HTMLElement;
      const text = `${name}: shortest ${ms(least)}, median ${ms(middle)}, 95 % ${ms(most95)}, 99 % ${ms(most99)}, longest ${ms(most)}`;
      if (row.title !== text) {
        row.title = text;
        row.setAttribute("aria-label", text);
      }
      const [label, track, value] = row.children as unknown as [HTMLElement, HTMLElement, HTMLElement];
      write(label, name);
      write(value, ms(middle));
      // As layers of one background they are painted; as elements of their own they would be laid out, too, which takes
      // longer.
      const layers = [
        mark(ink, place(middle), 2, 12),
        mark(ink, place(most99), 1, 8),
        layer(`${colour(flow)}bf`, place(least), place(most95), 6),
        layer(`${colour(flow)}99`, place(least), place(most), 2),
      ];
      restyle(track, `background:${layers.join()}`);
    });
    const scale = this.root.querySelector(".scale")!;
    const labels: HTMLElement[] = [];
    let last = -Infinity;
    for (let power = -4; known.length && power <= 2; power++) {
      for (const digit of high - low > 2 ? [1, 2, 5] : [1, 2, 3, 4, 5, 6, 7, 8]) {
        const at = place(digit * 10 ** power);
        if (at < 0 || at > 100 || at < last + 25) continue; // labels must not touch
        last = at;
        const ms = digit * 10 ** (power + 3);
        labels.push(
          el("span", { style: `left:${at}%` }, ms >= 1000 ? `${ms / 1000} s` : `${Number(ms.toPrecision(2))} ms`),
        );
      }
    }
    const text = labels.map((label) => `${label.textContent} ${label.style.left}`).join();
    if (text === this.scaled) return;
    this.scaled = text;
    scale.replaceChildren(el("span"), el("div", {}, ...labels), el("span"));
  }
}
