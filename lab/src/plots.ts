// Plots of curves over time, bars, and distributions.

import uPlot from "uplot";
import { el, rate, write } from "./dom";
import { colour, css, dashes } from "./style-data";

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

/**
 * Width and drawing of a line. Without a graphics processor, lines of one device pixel cost a tenth of wider ones. On
 * screens of ordinary resolution a wider line is therefore drawn as two thin ones, half a pixel apart.
 */
function strokes({ width = 1.5, steps }: Line): Pick<uPlot.Series, "width" | "paths"> {
  const build = steps ? uPlot.paths.stepped!({ align: 1 }) : uPlot.paths.linear!();
  if (devicePixelRatio >= 1.5) return { width, paths: build };
  const paths: uPlot.Series.PathBuilder = (u, series, from, to) => {
    const made = build(u, series, from, to);
    if (width <= 1 || !(made?.stroke instanceof Path2D)) return made;
    const stroke = new Path2D(made.stroke);
    stroke.addPath(made.stroke, { f: width - 1 });
    return { ...made, stroke };
  };
  return { width: 1 / devicePixelRatio, paths };
}

function seriesOf(line: Line): uPlot.Series {
  const { label, colour: stroke, dash } = line;
  return { label, stroke, dash, scale: line.right ? "right" : "y", points: { show: false }, ...strokes(line) };
}

export class LinePlot {
  readonly root: HTMLElement;
  private readonly holder = el("div", { class: "canvas" });
  private readonly head = el("div", { class: "now", style: "display:none" });
  private readonly said = el("div", { class: "note", hidden: true });
  private plot: uPlot | undefined;
  /** The look of each line. */
  private looks: string[] = [];
  picture: Picture = { time: [], lines: [] };
  private end_s = 1;

  constructor(
    readonly title: string,
    readonly axis: Axis,
    private readonly at: (time_s: number) => void,
    about: string,
    /** Returns further text about a time. */
    private readonly note?: (time_s: number) => string,
  ) {
    this.root = el(
      "figure",
      { class: "plot", role: "img", "aria-label": `${title}, ${axis.unit}, over time` },
      el("figcaption", { title: about }, title, el("small", {}, ` [${axis.unit}${axis.right ? `; dashed: ${axis.right}` : ""}]`)),
      this.holder,
      this.said,
    );
    new ResizeObserver(() => this.resize()).observe(this.holder);
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
    const looks = picture.lines.map(({ values: _, ...rest }) => JSON.stringify(rest));
    // Values that are not finite become gaps.
    const gaps = (values: ArrayLike<number>): (number | null)[] => {
      const all = new Array<number | null>(values.length);
      for (let i = 0; i < all.length; i++) all[i] = Number.isFinite(values[i]) ? values[i]! : null;
      return all;
    };
    const data = [picture.time, ...picture.lines.map((line) => gaps(line.values))] as unknown as uPlot.AlignedData;
    const was = this.looks;
    this.looks = looks;
    // Creating a plot takes several times as long as changing the curves of an existing one.
    const isRight = (look: string): boolean => look.includes('"right":true');
    if (this.plot && was.length > 0 && looks.some(isRight) === was.some(isRight)) {
      for (let i = was.length - 1; i >= 0; i--) if (looks[i] !== was[i]) this.plot.delSeries(i + 1);
      looks.forEach((look, i) => {
        if (look !== was[i]) this.plot!.addSeries(seriesOf(picture.lines[i]!), i + 1);
      });
      this.plot.setData(data);
      return;
    }
    this.plot?.destroy();
    this.plot = new uPlot(this.options(), data, this.holder);
    this.plot.over.append(this.head);
    const over = this.plot.over;
    over.addEventListener("click", (event) => {
      if (this.plot) this.at(Math.max(0, this.plot.posToVal(event.offsetX, "x")));
    });
  }

  redraw(): void {
    this.looks = [];
    this.show(this.picture, this.end_s);
  }

  /** Marks the current time. */
  now(time_s: number, visible: boolean): void {
    if (!this.plot) return;
    const display = visible ? "" : "none";
    if (this.head.style.display !== display) this.head.style.display = display;
    if (visible) this.head.style.transform = `translateX(${this.plot.valToPos(time_s, "x")}px)`;
  }

  private options(): uPlot.Options {
    const ink = css("--ink-2");
    const grid = { stroke: css("--grid"), width: 1 };
    const font = "11px system-ui, sans-serif";
    const axis = { stroke: ink, grid, ticks: grid, font, gap: 3 };
    const { low, high } = this.axis;
    const range = (_: uPlot, min: number | null, max: number | null): uPlot.Range.MinMax => {
      const top = high ?? (max !== null && max > 0 ? max * 1.06 : 1);
      return [low ?? Math.min(0, min ?? 0), top];
    };
    const short = (_: uPlot, ticks: number[]): string[] => ticks.map((tick) => String(Number(tick.toPrecision(6))));
    return {
      ...this.size(),
      legend: { show: false },
      padding: [6, 19, 0, 0], // half of the last label is outside the plot
      cursor: { sync: { key: "lab" }, drag: { x: false, y: false }, points: { size: 5 }, y: false },
      scales: { x: { time: false, range: () => [0, this.end_s] }, y: { range }, right: { range: (_u, _a, b) => [0, (b ?? 1) * 1.06 || 1] } },
      axes: [
        { ...axis, size: 22, values: (_, ticks) => ticks.map((tick) => `${tick} s`) },
        { ...axis, size: 42, values: short },
        ...(this.picture.lines.some((line) => line.right)
          ? [{ ...axis, scale: "right", side: 1 as const, size: 38, grid: { show: false }, values: short }]
          : []),
      ],
      series: [
        {},
        ...this.picture.lines.map(seriesOf),
      ],
      hooks: { setCursor: [(u) => this.readOut(u)] },
    };
  }

  /** Shows the values at the pointer beside the title. */
  private readOut(u: uPlot): void {
    const caption = this.root.querySelector("figcaption")!;
    caption.querySelector("output")?.remove();
    this.said.hidden = true;
    const index = u.cursor.idx;
    if (index === null || index === undefined || (u.cursor.left ?? -1) < 0) return;
    const parts = this.picture.lines
      .filter((line) => Number.isFinite(line.values[index]))
      .slice(0, 8)
      .map((line) => `${line.label} ${Number(line.values[index]!.toPrecision(3))}`);
    const note = u.over.matches(":hover") ? (this.note?.(Number(this.picture.time[index])) ?? "") : "";
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
      el("figcaption", { title: "New payload handed to the application per second of the measured time. Click a flow to show or hide its curves." }, "Goodput", this.until),
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
            el("div", { class: "track" }, el("div", { class: "bar" }), el("div", { class: "pin", style: "display:none" })),
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

/** The distribution of a delay, for each flow. */
export class Spreads {
  readonly root = el("figure", { class: "plot spreads" });
  private readonly list: HTMLUListElement;
  private scaled = "";

  constructor(title: string, what: string) {
    this.list = el("ul", { "aria-label": `${what} of each flow` });
    const about = `${what}: a line from the shortest to the longest, thick to the 95th percentile, marks at the median and the 99th percentile.`;
    this.root.append(el("figcaption", { title: about }, title, el("small", {}, " shortest, median, 95 %, 99 %, longest; logarithmic")), this.list, el("div", { class: "scale" }));
  }

  show(spreads: Spread[]): void {
    const known = spreads.filter((one) => one.at[4] > 0);
    this.root.hidden = known.length === 0;
    const low = Math.log(Math.min(...known.map((one) => one.at[0])) || 1e-3);
    const high = Math.log(Math.max(...known.map((one) => one.at[4])) || 1);
    const place = (x: number): number => (high > low ? (100 * (Math.log(x) - low)) / (high - low) : 50);
    while (this.list.childElementCount > known.length) this.list.lastElementChild!.remove();
    while (this.list.childElementCount < known.length) {
      const parts = ["whole", "most", "mark", "mark thin"].map((kind) => el("div", { class: kind }));
      this.list.append(el("li", {}, el("span"), el("div", { class: "track" }, ...parts), el("output")));
    }
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
      const parts = track.children as unknown as HTMLElement[];
      [[least, most], [least, most95], [middle], [most99]].forEach(([from, to], part) => {
        const { style } = parts[part]!;
        style.left = `${place(from!).toFixed(2)}%`;
        if (to === undefined) return;
        style.width = `${Math.max(0, place(to) - place(from!)).toFixed(2)}%`;
        style.background = colour(flow);
      });
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
        labels.push(el("span", { style: `left:${at}%` }, ms >= 1000 ? `${ms / 1000} s` : `${Number(ms.toPrecision(2))} ms`));
      }
    }
    const text = labels.map((label) => `${label.textContent} ${label.style.left}`).join();
    if (text === this.scaled) return;
    this.scaled = text;
    scale.replaceChildren(el("span"), el("div", {}, ...labels), el("span"));
  }
}

/** The curves of flows, in the colours of the flows. */
export function flowLines(names: string[], flows: number[], values: number[][], suffix = ""): Line[] {
  return flows.map((f) => ({ label: names[f]! + suffix, values: values[f]!, colour: colour(f), dash: dashes(f) }));
}

/** The same curves of the pinned run as thin lines; `old` has the index there of the flow of the same name. */
export function pinnedLines(names: string[], flows: number[], old: number[], values: number[][]): Line[] {
  return flows
    .filter((f) => values[old[f]!])
    .map((f) => ({ label: `${names[f]!} pinned`, values: values[old[f]!]!, colour: `${colour(f)}77`, dash: [3, 3], width: 1 }));
}
