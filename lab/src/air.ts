// The air panel: a lane for each station, with its frames by kind and fate, its backoff, and its NAVs.

import { byId, el, figure, span } from "./dom";
import { ask, EMPTY, type Engine, type Table } from "./engine";
import { describeFrame, firstEnding, type Frames, readFrames } from "./frames";
import { complain, Pieces, SAMPLES, type Spec } from "./run";
import { LANE, LEFT, paintAir, plotWidth, TOP, type View } from "./paint";
import { KIND_NAMES, KINDS } from "./style-data";

/** The most frames that are held at a time. */
const MOST_FRAMES = 250_000;
/** The shortest simulated time that is recorded at once [s]. */
const LEAST_S = 2;
/** About how many frames are recorded ahead during playback. */
const AHEAD_FRAMES = 20_000;
/** A control counts as released when it was not moved for this long [ms]. */
const REST_MS = 150;
const LONGEST_S = 60;
const SHORTEST_S = 10e-6;

export class Air {
  readonly canvas = byId<HTMLCanvasElement>("air");
  private readonly tip = byId("tip");
  private readonly about = byId("air-about");
  private readonly zoomText = byId("zoom");
  private nodes: string[] = [];
  private spec: Spec | null = null;
  frames: Frames | null = null;
  /** The current time, and the length of the interval shown [s]. */
  now_s = 0;
  width_s = 0.05;
  /** During playback, frames are recorded this far ahead [s]. */
  lead_s = 0;
  private generation = 0;
  private recording = false;
  private readonly pieces = new Pieces();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** Width of the canvas [pixels]. */
  private width = 0;
  /** The simulated time that the recording run has reached [s]. */
  private reached_s = Infinity;
  private drawn = false;

  constructor(
    private readonly engine: Engine,
    private readonly moved: (time_s: number) => void,
    private readonly failed: (why: unknown) => void,
  ) {
    this.listen();
    new ResizeObserver(([entry]) => {
      this.width = entry!.contentRect.width;
      this.draw();
    }).observe(this.canvas);
    byId("air-legend").append(
      ...KIND_NAMES.map((key) =>
        el("span", { "data-kind": key }, el("i", { style: `background:${KINDS[key]!.colour}` }), KINDS[key]!.label),
      ),
      el(
        "span",
        {},
        el("i", { style: "background:repeating-linear-gradient(45deg,#000 0 2px,#fff 2px 5px)" }),
        "collision or error",
      ),
      el("span", {}, el("i", { style: "background:#888;height:4px;vertical-align:2px" }), "backoff"),
      el(
        "span",
        {},
        el("i", { style: "background:repeating-linear-gradient(90deg,#888 0 1px,transparent 1px 4px);height:5px" }),
        "NAV",
      ),
      el(
        "span",
        {},
        el("i", {
          style:
            "background:repeating-linear-gradient(90deg,#777 0 6px,transparent 6px 9px);height:2px;vertical-align:1px",
        }),
        "basic NAV, set by other BSSs (802.11ax, be)",
      ),
    );
  }

  /** Shows another run: the frames recorded before are discarded. */
  show(spec: Spec, nodes: string[], now_s: number): void {
    this.spec = spec;
    const isSame = nodes.join() === this.nodes.join();
    this.nodes = nodes;
    this.generation++;
    this.reached_s = Infinity;
    this.canvas.setAttribute("aria-label", `The air: lanes of ${nodes.slice(0, 12).join(", ")}`);
    // If the lanes are the same, the old frames stay visible until the new ones are recorded.
    this.frames = this.frames && isSame ? { ...this.frames, from_s: Infinity, to_s: -Infinity, losses: EMPTY } : null;
    // Record only when the control is released: while it moves, the curves come first.
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.fetch();
    }, REST_MS);
    if (!isSame || now_s !== this.now_s) this.look(now_s);
  }

  /** Whether frames are being recorded, or will be soon. */
  get busy(): boolean {
    return this.recording || this.timer !== undefined;
  }

  /** Stops recording. */
  stop(): void {
    this.generation++;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.engine.stop();
    this.reached_s = Infinity;
    this.about.textContent = "";
  }

  /** Start of the interval shown: the current time is in its middle, except near the ends of the run. */
  get from_s(): number {
    const last_s = (this.spec?.duration_s ?? Infinity) - this.width_s;
    return Math.max(0, Math.min(this.now_s - this.width_s / 2, last_s));
  }

  /** Shows another time, or an interval of another length. */
  look(now_s = this.now_s, width_s = this.width_s): void {
    this.now_s = now_s;
    this.width_s = Math.min(LONGEST_S, Math.max(SHORTEST_S, width_s));
    const zoom = span(this.width_s);
    if (this.zoomText.textContent !== zoom) this.zoomText.textContent = zoom;
    this.draw();
    void this.fetch();
  }

  zoom(factor: number): void {
    this.look(this.now_s, this.width_s * factor);
  }

  private isThere(from_s: number, to_s: number): boolean {
    return this.frames !== null && this.frames.from_s <= from_s && this.frames.to_s >= to_s;
  }

  /** Records the frames that are shown and not recorded yet, and some that come next. */
  private async fetch(): Promise<void> {
    const { spec } = this;
    if (!spec || this.busy) return;
    const from = Math.max(0, this.from_s);
    const to = Math.min(spec.duration_s, this.from_s + this.width_s);
    const known = this.frames;
    const perSecond = known && known.to_s > known.from_s ? known.start.length / (known.to_s - known.from_s) : 0;
    const lead = Math.min(this.lead_s, perSecond > 0 ? AHEAD_FRAMES / perSecond : LEAST_S);
    if (to <= from || this.isThere(from, Math.min(spec.duration_s, to + lead))) return;
    this.recording = true;
    const generation = this.generation;
    let well = true;
    try {
      const length = Math.max(LEAST_S, 1.5 * this.width_s);
      const first = Math.max(0, from - 0.2 * length);
      const isNext = known !== null && this.reached_s === known.to_s && from >= known.from_s;
      await this.record(
        isNext ? Math.max(first, known.from_s) : first,
        Math.min(spec.duration_s, to + 0.8 * length + 2 * lead),
        generation,
      );
    } catch (why) {
      well = generation !== this.generation;
      if (!well) this.failed(why);
    } finally {
      this.recording = false;
    }
    this.draw();
    if (well) void this.fetch(); // another interval may be shown by now
  }

  /** Records the frames of an interval; returns false if a newer run replaced this one. */
  private async record(from_s: number, to_s: number, generation: number): Promise<boolean> {
    const spec = this.spec!;
    const ns = (seconds: number): number => Math.round(seconds * 1e9);
    const { text, name, seed } = spec;
    const frames = { from_ns: ns(from_s), to_ns: ns(to_s), most: MOST_FRAMES };
    const known = this.frames;
    if (this.reached_s <= from_s || (known && this.reached_s === known.to_s && from_s >= known.from_s)) {
      await ask(this.engine, { ask: "advance", until_ns: ns(this.reached_s), frames });
    } else {
      this.reached_s = Infinity;
      const begun = await ask(this.engine, { ask: "begin", text, name, seed, samples: SAMPLES, frames });
      complain(begun.head);
      if (generation !== this.generation) return false;
      this.reached_s = 0;
    }
    // Advance in pieces, so that a newer run does not wait for this one.
    let events = 0;
    for (let now = this.reached_s; now < to_s;) {
      const before = performance.now();
      this.about.textContent = now < from_s ? `simulating up to ${figure(from_s)} s` : "recording";
      const { head } = await ask(this.engine, { ask: "advance", until_ns: ns(to_s), most_events: this.pieces.events });
      if (generation !== this.generation) return false;
      if (events > 0 && head.now_s < to_s) this.pieces.learn(head.events - events, performance.now() - before);
      events = head.events;
      this.reached_s = now = head.now_s >= to_s - 1e-9 ? to_s : head.now_s;
    }
    const { head, tables } = await ask(this.engine, { ask: "columns" });
    if (generation !== this.generation) return false;
    const last = tables.frames?.numbers("end_s").at(-1);
    const until = head.frames_complete || last === undefined ? to_s : last;
    this.frames = readFrames(tables, this.nodes, from_s, until);
    this.about.textContent = "";
    return true;
  }

  /** When the next frame that collides starts; null if none does before the end. */
  async nextCollision(): Promise<number | null> {
    const spec = this.spec;
    if (!spec) return null;
    const generation = this.generation;
    let after = this.now_s + 1e-9;
    let span_s = LEAST_S;
    while (after < spec.duration_s) {
      if (!this.isThere(after, Math.min(spec.duration_s, after + 1e-6))) {
        while (this.busy) await new Promise((done) => setTimeout(done, 15));
        this.recording = true;
        try {
          if (!(await this.record(Math.max(0, after - 0.2), Math.min(spec.duration_s, after + span_s), generation)))
            return null;
        } finally {
          this.recording = false;
        }
        span_s = Math.min(30, 2 * span_s);
      }
      const { start, end, fate, to_s } = this.frames!;
      for (let i = firstEnding(end, after); i < end.length; i++) {
        if (fate[i] === 1 && start[i]! > after) return start[i]!;
      }
      after = Math.max(to_s, after + 1e-6);
    }
    return null;
  }

  /** Losses and timeouts of the recording run: to the millisecond in the recorded interval, coarser elsewhere. */
  get losses(): Table {
    return this.frames?.losses ?? EMPTY;
  }

  private lanesShown(): number[] {
    const all = this.nodes.map((_, lane) => lane);
    if (all.length <= 60 || !this.frames) return all;
    const active = new Set<number>();
    for (const lane of this.frames.sender) if (active.size < 60) active.add(lane);
    return all.filter((lane) => active.has(lane));
  }

  draw(): void {
    if (this.drawn) return;
    this.drawn = true;
    requestAnimationFrame(() => {
      this.drawn = false;
      this.paint();
    });
  }

  private paint(): void {
    const lanes = this.lanesShown();
    const scale = devicePixelRatio || 1;
    const width = this.width || this.canvas.clientWidth;
    const height = TOP + LANE * Math.max(1, lanes.length) + 4;
    if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
      this.canvas.width = Math.round(width * scale);
      this.canvas.height = Math.round(height * scale);
      this.canvas.style.height = `${height}px`;
    }
    const g = this.canvas.getContext("2d")!;
    g.setTransform(scale, 0, 0, scale, 0, 0);
    paintAir(g, { ...this.view(), width, height });
  }

  /** What to paint, without the size. */
  view(): Omit<View, "width" | "height"> {
    const { from_s, width_s, nodes, frames, now_s } = this;
    return { from_s, width_s, lanes: this.lanesShown(), nodes, frames, now_s, end_s: this.spec?.duration_s ?? 0 };
  }

  private listen(): void {
    const { canvas } = this;
    let held: { x: number; from_s: number; dragged: boolean } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.offsetX, from_s: this.from_s, dragged: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        held.dragged ||= Math.abs(held.x - event.offsetX) > 3;
        if (!held.dragged) return;
        const seconds = ((held.x - event.offsetX) / plotWidth(canvas.clientWidth) + 0.5) * this.width_s;
        this.moved(Math.min(this.spec?.duration_s ?? 0, Math.max(0, held.from_s + seconds)));
      } else this.hover(event);
    });
    canvas.addEventListener("pointerup", () => (held = null));
    canvas.addEventListener("pointercancel", () => (held = null));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener(
      "wheel",
      (event) => {
        // The wheel scrolls the page unless the air has the focus or a modifier key is held.
        if (!event.ctrlKey && !event.shiftKey && document.activeElement !== canvas) return;
        event.preventDefault();
        const at = this.from_s + ((event.offsetX - LEFT) / plotWidth(canvas.clientWidth)) * this.width_s;
        const factor = Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 300));
        const width = Math.min(LONGEST_S, Math.max(SHORTEST_S, this.width_s * factor));
        this.width_s = width;
        const now = at + ((this.now_s - at) * width) / (width / factor);
        this.moved(Math.min(this.spec?.duration_s ?? 0, Math.max(0, now)));
      },
      { passive: false },
    );
  }

  /** The frame under the pointer. */
  private find(x: number, y: number): number {
    const { frames } = this;
    const lane = this.lanesShown()[Math.floor((y - TOP) / LANE)];
    if (!frames || lane === undefined) return -1;
    const pixel = this.width_s / plotWidth(this.canvas.clientWidth);
    const time = this.from_s + (x - LEFT) * pixel;
    let best = -1;
    for (let i = firstEnding(frames.end, time - 3 * pixel); i < frames.end.length; i++) {
      if (frames.end[i]! > time + frames.longest + 3 * pixel) break;
      if (frames.sender[i] !== lane || frames.start[i]! > time + 3 * pixel) continue;
      best = i;
      if (frames.start[i]! <= time && frames.end[i]! >= time) break;
    }
    return best;
  }

  private hover(event: PointerEvent): void {
    const found = this.find(event.offsetX, event.offsetY);
    this.tip.hidden = found < 0;
    if (found < 0) return;
    this.tip.textContent = describeFrame(this.frames!, found);
    const panel = this.canvas.closest("section")!.getBoundingClientRect();
    const x = event.clientX - panel.left;
    this.tip.style.left = `${Math.min(x + 14, Math.max(0, panel.width - 340))}px`;
    this.tip.style.top = `${event.clientY - panel.top + 18}px`;
  }
}
