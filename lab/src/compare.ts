// The pinned run: it is shown beside later runs, and compared with them over several seeds.

import { byId, el, figure } from "./dom";
import { ask, type Engine } from "./engine";
import type { Page, Pinned } from "./page";
import { cell, Curves, simulate, type Spec } from "./run";

/** Figures that are compared: column, label, and factor. */
const FIGURES: [string, string, number][] = [
  ["goodput_bps", "goodput [Mb/s]", 1e-6],
  ["jain_index", "Jain's index", 1],
  ["up_down_ratio", "uplink / downlink", 1],
  ["instantaneous_fairness", "instantaneous fairness", 1],
  ["ap_queue_mean_packets", "AP queue [packets]", 1],
  ["ap_drops_data", "data dropped at AP", 1],
  ["ap_drops_ack", "ACKs dropped at AP", 1],
  ["timeouts", "timeouts", 1],
  ["collision_probability", "collided attempts [%]", 100],
  ["air_idle", "idle air [%]", 100],
];

/** 97.5 % quantiles of Student's t for 1 to 30 degrees of freedom (any table of the distribution). */
const T = [
  12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16, 2.145, 2.131, 2.12, 2.11,
  2.101, 2.093, 2.086, 2.08, 2.074, 2.069, 2.064, 2.06, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/** Mean of independent values, and half width of its 95 % confidence interval. */
export function interval(values: number[]): [number, number] {
  const known = values.filter((x) => !Number.isNaN(x));
  const mean = known.reduce((a, b) => a + b, 0) / known.length;
  if (known.length < 2) return [mean, NaN];
  const variance = known.reduce((a, b) => a + (b - mean) ** 2, 0) / (known.length - 1);
  return [mean, T[Math.min(known.length - 1, T.length) - 1]! * Math.sqrt(variance / known.length)];
}

export class Comparison {
  pinned: Pinned | null = null;
  private seeds = 10;
  private generation = 0;
  /** Figures of the pinned scenario by seed. */
  private cache = new Map<string, number[]>();

  constructor(
    private readonly lab: Page,
    private readonly engine: Engine,
  ) {}

  toggle(): void {
    if (this.pinned) this.clear();
    else this.pin();
  }

  /** Pins the run that is shown. */
  pin(): void {
    const { result, lines, checked } = this.lab;
    if (!result || !lines || !checked) return;
    this.pinned = { spec: result.spec, result, lines, warmUp_s: checked.warm_up_s };
    this.cache.clear();
    this.changed();
  }

  /** Pins the run of another text, which a link contains. */
  async pinText(text: string, seed: string): Promise<void> {
    const { head } = await ask(this.engine, { ask: "check", text, name: "pinned.toml" });
    if (head.problems) {
      this.lab.notice("The pinned scenario of the link has errors, so only the other one is shown.");
      return;
    }
    const spec: Spec = { text, name: "pinned.toml", seed, duration_s: head.duration_s };
    const result = await simulate(this.engine, spec, { outdated: () => false });
    if (!result) return;
    this.pinned = { spec, result, lines: new Curves(result, head.warm_up_s), warmUp_s: head.warm_up_s };
    this.cache.clear();
    this.changed();
  }

  clear(): void {
    if (!this.pinned) return;
    this.stop();
    this.pinned = null;
    this.changed();
  }

  private changed(): void {
    const button = byId("pin");
    button.setAttribute("aria-pressed", String(this.pinned !== null));
    button.textContent = this.pinned ? "Unpin" : "Pin";
    this.lab.pictures.show();
    this.follow();
  }

  /** Compares the run now shown with the pinned one. */
  follow(): void {
    this.generation++;
    const panel = byId("comparison");
    panel.hidden = this.pinned === null;
    if (!this.pinned) return;
    const { text, seed } = this.pinned.spec;
    if (text === this.lab.text && seed === this.lab.seed) {
      panel.replaceChildren(
        el(
          "p",
          {},
          "This run is pinned. Change something: both runs are shown, with their differences over several seeds.",
        ),
      );
      return;
    }
    void this.compute(this.generation).catch((why) => this.lab.report(why));
  }

  stop(): void {
    this.generation++;
    this.engine.stop();
  }

  /** Runs the pinned and the current scenario with the same seeds, in the background. */
  private async compute(generation: number): Promise<void> {
    const pinned = this.pinned!;
    const outdated = (): boolean => generation !== this.generation;
    // Wait until a control is released before comparing.
    await new Promise((done) => setTimeout(done, 250));
    const base = BigInt(this.lab.seed);
    const before: number[][] = [];
    const after: number[][] = [];
    this.table(before, after);
    for (let i = 0; i < this.seeds && !outdated(); i++) {
      const seed = String((base + BigInt(i)) % 2n ** 64n);
      const key = `${seed} ${pinned.spec.text}`;
      const first = this.cache.get(key) ?? (await this.figures({ ...pinned.spec, seed }, outdated));
      if (!first || outdated()) return;
      this.cache.set(key, first);
      const second = await this.figures(this.lab.spec(this.lab.text, seed), outdated);
      if (!second || outdated()) return;
      before.push(first);
      after.push(second);
      this.table(before, after);
    }
  }

  private async figures(spec: Spec, outdated: () => boolean): Promise<number[] | null> {
    const result = await simulate(this.engine, { ...spec, coarse: true }, { outdated });
    return result && FIGURES.map(([name, , factor]) => factor * cell(result, name));
  }

  private table(before: number[][], after: number[][]): void {
    const rows = FIGURES.flatMap(([, label], i) => {
      const pairs = before.map((one, k) => [one[i]!, after[k]![i]!] as const);
      if (!pairs.length || pairs.every(([a, b]) => Number.isNaN(a) || Number.isNaN(b))) return [];
      const [a] = interval(pairs.map((pair) => pair[0]));
      const [b] = interval(pairs.map((pair) => pair[1]));
      const [difference, half] = interval(pairs.map((pair) => pair[1] - pair[0]));
      const sure = Math.abs(difference) > half;
      const text = `${difference > 0 ? "+" : ""}${figure(difference)}${Number.isNaN(half) ? "" : ` ± ${figure(half, 2)}`}`;
      return [
        el(
          "tr",
          {},
          el("td", {}, label),
          el("td", {}, figure(a)),
          el("td", {}, figure(b)),
          el("td", { class: sure ? "sure" : "" }, text),
        ),
      ];
    });
    const count = before.length;
    const more = el("button", { type: "button", onclick: () => this.more() }, "More seeds");
    byId("comparison").replaceChildren(
      el(
        "p",
        {},
        `Means over ${count} of ${this.seeds} seeds for the pinned run and this one, and their difference with its 95 % confidence interval (paired by seed, Student's t; bold if it excludes 0). `,
        count >= this.seeds ? more : null,
      ),
      el(
        "table",
        {},
        el(
          "thead",
          {},
          el("tr", {}, ...["", "pinned", "this", "difference"].map((name) => el("th", { scope: "col" }, name))),
        ),
        el("tbody", {}, ...rows),
      ),
    );
  }

  private more(): void {
    this.seeds = Math.min(30, this.seeds + 10);
    this.follow();
  }
}
