// Playback: play and pause, steps to the next event, and the keyboard.

import { byId, el } from "./dom";
import type { Page } from "./page";
import { describeLosses, happened } from "./losses";

const SPEEDS: [string, number][] = [
  ["1 : 100 000", 1e-5],
  ["1 : 10 000", 1e-4],
  ["1 : 1000", 1e-3],
  ["1 : 100", 1e-2],
  ["1 : 10", 0.1],
  ["real time", 1],
  ["10 ×", 10],
  ["100 ×", 100],
  ["as fast as possible", Infinity],
];

const KEYS: [string, string][] = [
  ["Space", "play or pause"],
  ["← →", "move by a tenth of the interval that the air shows; with Shift by all of it"],
  ["+ −", "zoom the air"],
  ["C L T", "next collision, loss, timeout"],
  ["Home End", "start and end of the run"],
  ["P", "pin or unpin the run"],
  ["N", "next seed"],
  ["Esc", "stop"],
];

export class Player {
  now_s = Infinity;
  private end_s = 1;
  private playing = false;
  private speed = 1;
  private last = 0;
  private readonly slider = byId<HTMLInputElement>("time");
  private readonly clock = byId("clock");
  private readonly button = byId<HTMLButtonElement>("play");

  constructor(private readonly lab: Page) {
    const speed = byId<HTMLSelectElement>("speed");
    speed.append(...SPEEDS.map(([name], i) => el("option", { value: i }, name)));
    speed.value = "6";
    this.speed = 10;
    speed.addEventListener("change", () => {
      this.speed = SPEEDS[Number(speed.value)]![1];
      if (this.playing) this.lab.air.lead_s = 0.7 * this.speedNow();
    });
    this.button.addEventListener("click", () => (this.playing ? this.pause() : this.play()));
    this.slider.addEventListener("input", () => {
      this.pause();
      this.go((this.end_s * Number(this.slider.value)) / Number(this.slider.max));
    });
    for (const button of document.querySelectorAll<HTMLButtonElement>("[data-step]")) {
      button.addEventListener("click", () => void this.step(button.dataset.step!));
    }
    byId("keys").append(
      ...KEYS.map(([key, what]) =>
        el("tr", {}, el("td", {}, ...key.split(" ").map((one) => el("kbd", {}, one))), el("td", {}, what)),
      ),
    );
    document.addEventListener("keydown", (event) => this.key(event));
  }

  range(end_s: number): void {
    this.end_s = end_s;
    if (this.now_s > end_s) this.now_s = end_s;
    this.place();
  }

  /** Moves to a time. */
  go(time_s: number, quiet = false): void {
    this.now_s = Math.min(this.end_s, Math.max(0, time_s));
    this.place();
    if (quiet) return;
    this.lab.pictures.atTime(this.now_s);
    this.lab.air.look(this.now_s);
  }

  private place(): void {
    this.slider.value = String(Math.round((10_000 * this.now_s) / this.end_s));
    const text = this.lab.clockText(this.now_s);
    if (this.clock.textContent === text) return;
    this.clock.textContent = text;
    // During playback a screen reader would read out every change.
    if (!this.playing) this.slider.setAttribute("aria-valuetext", text);
  }

  play(): void {
    if (this.now_s >= this.end_s) this.go(0);
    this.playing = true;
    this.lab.air.lead_s = 0.7 * this.speedNow();
    this.button.textContent = "Pause";
    this.last = performance.now();
    requestAnimationFrame((now) => this.frame(now));
  }

  pause(): void {
    this.playing = false;
    this.lab.air.lead_s = 0;
    this.button.textContent = "Play";
  }

  /** The playback speed; as fast as possible means the whole run in about two seconds. */
  private speedNow(): number {
    return this.speed === Infinity ? this.end_s / 2 : this.speed;
  }

  private frame(now: number): void {
    if (!this.playing) return;
    const passed = Math.min(0.1, (now - this.last) / 1000);
    this.last = now;
    this.go(this.now_s + passed * this.speedNow());
    if (this.now_s >= this.end_s) this.pause();
    else requestAnimationFrame((next) => this.frame(next));
  }

  /** Moves to the next collision, loss or timeout, and describes it. */
  async step(what: string): Promise<void> {
    this.pause();
    if (!this.lab.result) return;
    if (this.now_s >= this.end_s) this.go(0);
    const { air } = this.lab;
    const said = byId("air-about");
    if (what !== "collision") {
      const found = await this.stepToLoss(what, this.now_s);
      if (found !== undefined) said.textContent = found ? this.whatHappened(this.now_s) : `no ${what} after this time`;
      return;
    }
    const found = await air.nextCollision().catch((why) => void this.lab.report(why));
    if (found === null || found === undefined) {
      said.textContent = "no collision after this time";
      return;
    }
    if (air.width_s > 0.5) air.width_s = 0.02;
    this.go(found);
  }

  /** Moves to the next loss or timeout; returns whether there is one, and nothing if the time was moved meanwhile. */
  private async stepToLoss(what: string, from_s: number): Promise<boolean | undefined> {
    const { air, result } = this.lab;
    let found = this.nextLoss(what, from_s);
    while (found !== null) {
      this.go(found);
      while (air.busy) await new Promise((done) => setTimeout(done, 15));
      if (this.now_s !== Math.min(found, this.end_s) || result !== this.lab.result) return undefined;
      // Now that the frames around it are recorded, its time is known to the millisecond. A sample may also count one
      // before.
      const exact = this.nextLoss(what, from_s, [air.losses]);
      if (exact === found || air.losses.rows === 0) return true;
      found = exact ?? this.nextLoss(what, found, [result!.losses]);
    }
    return false;
  }

  /**
   * The first loss or timeout after a time. Near recorded frames it is known to the millisecond, elsewhere to the
   * sampling step.
   */
  private nextLoss(
    what: string,
    from_s: number,
    tables = [this.lab.air.losses, this.lab.result!.losses],
  ): number | null {
    let best = Infinity;
    for (const table of tables) {
      const time = table.numbers("time_s");
      for (let row = 0; row < time.length; row++) {
        if (time[row]! > from_s + 1e-9 && happened(table, row, what)) {
          best = Math.min(best, time[row]!);
          break;
        }
      }
      if (best < Infinity && table === tables[0]) break;
    }
    return best < Infinity ? best : null;
  }

  /** Losses and timeouts at a time. */
  private whatHappened(time_s: number): string {
    const names = this.lab.lines?.names ?? [];
    const parts: string[] = [];
    for (const table of [this.lab.air.losses, this.lab.result!.losses]) {
      const time = table.numbers("time_s");
      for (let row = 0; row < time.length; row++) {
        if (Math.abs(time[row]! - time_s) < 1e-6)
          parts.push(`${names[table.numbers("flow")[row]!]}: ${describeLosses(table, [row])}`);
      }
      if (parts.length) break;
    }
    return parts.slice(0, 4).join("; ");
  }

  private key(event: KeyboardEvent): void {
    const target = event.target as HTMLElement;
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      target.closest("textarea, select, input[type=text], input[type=checkbox]")
    )
      return;
    if (target.closest("input[type=range]") && /^(Arrow|Home|End|Page)/.test(event.key)) return;
    if (event.key === " " && target.closest("button, summary")) return;
    const { air } = this.lab;
    const open = document.querySelector<HTMLDetailsElement>(".menu[open]");
    if (event.key === "Escape" && open) {
      open.open = false;
      open.querySelector("summary")!.focus();
      return;
    }
    const actions: Record<string, () => void> = {
      " ": () => (this.playing ? this.pause() : this.play()),
      ArrowLeft: () => this.go(this.now_s - air.width_s * (event.shiftKey ? 1 : 0.1)),
      ArrowRight: () => this.go(this.now_s + air.width_s * (event.shiftKey ? 1 : 0.1)),
      "+": () => air.zoom(0.5),
      "=": () => air.zoom(0.5),
      "-": () => air.zoom(2),
      c: () => void this.step("collision"),
      l: () => void this.step("loss"),
      t: () => void this.step("timeout"),
      Home: () => this.go(0),
      End: () => this.go(this.end_s),
      p: () => this.lab.comparison.toggle(),
      n: () => byId("next-seed").click(),
      Escape: () => this.lab.stop(),
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action) return;
    event.preventDefault();
    action();
  }
}
