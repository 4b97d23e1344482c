// The air: a lane for each station, with its frames by kind and fate, backoff and NAV.

import { byId, el, figure, rate, span } from "./dom";
import { ask, EMPTY, type Engine, type Table } from "./engine";
import { complain, type Spec, stepOf } from "./run";
import { css, KINDS } from "./style-data";

const FATES = ["received", "collision", "error", "unheard"];
/** Frames that are held at a time. */
const MOST_FRAMES = 250_000;
/** So long a time is recorded at once, at least. */
const LEAST_S = 2;
const LONGEST_S = 60;
const SHORTEST_S = 10e-6;
const LANE = 34;
const TOP = 20;

/** Frames between two times, as arrays. */
export interface Frames {
  from_s: number;
  to_s: number;
  table: Table;
  start: Float64Array;
  end: Float64Array;
  sender: Int32Array;
  receiver: Int32Array;
  /** Places in the list of kinds and of fates. */
  kind: Uint8Array;
  fate: Uint8Array;
  backoff: { station: Int32Array; start: Float64Array; end: Float64Array };
  losses: Table;
  /** The longest frame, which bounds a search by starts. */
  longest: number;
}

const KIND_NAMES = Object.keys(KINDS);

function kindOf(kind: string, packet: string, length_s: number, hasTcp: boolean): number {
  if (kind === "ack") return KIND_NAMES.indexOf("mac_ack");
  if (kind === "rts" || kind === "cts") return KIND_NAMES.indexOf(kind);
  if (kind === "data" && (packet === "data" || packet === "ack")) return KIND_NAMES.indexOf(packet);
  // A frame that its receiver has already carries nothing in the record.
  if (kind === "data" && packet === "" && hasTcp) return KIND_NAMES.indexOf(length_s > 0.0005 ? "data" : "ack");
  return kind.includes("ack") ? KIND_NAMES.indexOf("mac_ack") : KIND_NAMES.indexOf("other");
}

function lanes(column: { codes: Uint32Array; texts: string[] }, nodes: string[]): Int32Array {
  const places = column.texts.map((name) => nodes.indexOf(name));
  return Int32Array.from(column.codes, (code) => places[code]!);
}

export function readFrames(tables: Record<string, Table>, nodes: string[], from_s: number, to_s: number): Frames {
  const table = tables.frames ?? EMPTY;
  const backoffs = tables.backoffs ?? EMPTY;
  const start = table.numbers("start_s");
  const end = table.numbers("end_s");
  const kinds = table.words("kind");
  const packets = table.words("packet");
  const fates = table.words("fate");
  const hasTcp = packets.texts.some((text) => text === "data" || text === "ack");
  const fate = fates.texts.map((text) => Math.max(0, FATES.indexOf(text)));
  const frames: Frames = {
    from_s,
    to_s,
    table,
    start,
    end,
    sender: lanes(table.words("sender"), nodes),
    receiver: lanes(table.words("receiver"), nodes),
    kind: Uint8Array.from(start, (_, i) =>
      kindOf(kinds.texts[kinds.codes[i]!]!, packets.texts[packets.codes[i]!]!, end[i]! - start[i]!, hasTcp),
    ),
    fate: Uint8Array.from(fates.codes, (code) => fate[code]!),
    backoff: {
      station: lanes(backoffs.words("station"), nodes),
      start: backoffs.numbers("start_s"),
      end: backoffs.numbers("end_s"),
    },
    losses: tables.events ?? EMPTY,
    longest: 0,
  };
  for (let i = 0; i < start.length; i++) frames.longest = Math.max(frames.longest, end[i]! - start[i]!);
  return frames;
}

/** The first row whose end is not below `time`: rows are in the order of their ends. */
export function firstEnding(ends: Float64Array, time: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export class Air {
  readonly canvas = byId<HTMLCanvasElement>("air");
  private readonly tip = byId("tip");
  private readonly about = byId("air-about");
  private nodes: string[] = [];
  private spec: Spec | null = null;
  frames: Frames | null = null;
  /** Where the present is, and how much is shown. */
  now_s = 0;
  width_s = 0.05;
  /** The present is at this part of the picture. */
  private readonly anchor = 0.5;
  private generation = 0;
  private busy = false;
  /** Until when the run that goes on has come. */
  private reached_s = Infinity;
  private drawn = false;

  constructor(
    private readonly engine: Engine,
    private readonly moved: (time_s: number) => void,
    private readonly failed: (why: unknown) => void,
  ) {
    this.listen();
    new ResizeObserver(() => this.draw()).observe(byId("air-holder"));
    byId("air-legend").append(
      ...KIND_NAMES.map((key) =>
        el("span", { "data-kind": key }, el("i", { style: `background:${KINDS[key]!.colour}` }), KINDS[key]!.label),
      ),
      el("span", {}, el("i", { style: "background:repeating-linear-gradient(45deg,#000 0 2px,#fff 2px 5px)" }), "collision or error"),
      el("span", {}, el("i", { style: "background:#888;height:4px;vertical-align:2px" }), "backoff"),
      el("span", {}, el("i", { style: "background:repeating-linear-gradient(90deg,#888 0 1px,transparent 1px 4px);height:5px" }), "NAV"),
    );
  }

  /** Another run: what was recorded is forgotten. */
  show(spec: Spec, nodes: string[], now_s: number): void {
    this.spec = spec;
    const isSame = nodes.join() === this.nodes.join();
    this.nodes = nodes;
    this.generation++;
    this.reached_s = Infinity;
    this.canvas.setAttribute("aria-label", `The air: lanes of ${nodes.slice(0, 12).join(", ")}`);
    // What is shown stays until the new frames are there, if the lanes are the same.
    this.frames = this.frames && isSame ? { ...this.frames, from_s: Infinity, to_s: -Infinity, losses: EMPTY } : null;
    this.look(now_s);
  }

  /** Ends what is recorded. */
  stop(): void {
    this.generation++;
    this.engine.stop();
    this.reached_s = Infinity;
    this.about.textContent = "";
  }

  get from_s(): number {
    return this.now_s - this.anchor * this.width_s;
  }

  /** The present is elsewhere, or something else is shown. */
  look(now_s = this.now_s, width_s = this.width_s): void {
    this.now_s = now_s;
    this.width_s = Math.min(LONGEST_S, Math.max(SHORTEST_S, width_s));
    byId("zoom").textContent = span(this.width_s);
    this.draw();
    void this.fetch();
  }

  zoom(factor: number): void {
    this.look(this.now_s, this.width_s * factor);
  }

  private isThere(from_s: number, to_s: number): boolean {
    return this.frames !== null && this.frames.from_s <= from_s && this.frames.to_s >= to_s;
  }

  /** Records what is shown and is not there yet, and some of what comes next. */
  private async fetch(): Promise<void> {
    const { spec } = this;
    if (!spec || this.busy) return;
    const from = Math.max(0, this.from_s);
    const to = Math.min(spec.duration_s, this.from_s + this.width_s);
    if (to <= from || this.isThere(from, to)) return;
    this.busy = true;
    const generation = this.generation;
    let well = true;
    try {
      const length = Math.max(LEAST_S, 1.5 * this.width_s);
      await this.record(Math.max(0, from - 0.2 * length), Math.min(spec.duration_s, to + 0.8 * length), generation);
    } catch (why) {
      well = generation !== this.generation;
      if (!well) this.failed(why);
    } finally {
      this.busy = false;
    }
    this.draw();
    if (well) void this.fetch(); // something else may be shown by now
  }

  /** Records frames between two times. */
  private async record(from_s: number, to_s: number, generation: number): Promise<boolean> {
    const spec = this.spec!;
    const ns = (seconds: number): number => Math.round(seconds * 1e9);
    const { text, name, seed } = spec;
    const frames = { from_ns: ns(from_s), to_ns: ns(to_s), most: MOST_FRAMES };
    if (this.reached_s <= from_s) {
      await ask(this.engine, { ask: "advance", until_ns: ns(this.reached_s), frames });
    } else {
      this.reached_s = Infinity;
      const begun = await ask(this.engine, { ask: "begin", text, name, seed, step_ns: stepOf(spec), frames });
      complain(begun.head);
      if (generation !== this.generation) return false;
      this.reached_s = 0;
    }
    // In pieces, so that a newer run does not wait for this one.
    let piece = Math.max(0.5, spec.duration_s / 50);
    for (let now = this.reached_s; now < to_s; ) {
      const before = performance.now();
      now = Math.min(to_s, now + piece);
      this.about.textContent = now < from_s ? `simulating up to ${figure(from_s)} s` : "recording";
      await ask(this.engine, { ask: "advance", until_ns: ns(now) });
      if (generation !== this.generation) return false;
      this.reached_s = now;
      piece *= Math.min(4, 80 / Math.max(1, performance.now() - before));
    }
    const { head, tables } = await ask(this.engine, { ask: "columns" });
    if (generation !== this.generation) return false;
    const last = tables.frames?.numbers("end_s").at(-1);
    const until = head.frames_complete || last === undefined ? to_s : last;
    this.frames = readFrames(tables, this.nodes, from_s, until);
    this.about.textContent = "";
    return true;
  }

  /** When the next frame after the present meets another; null if none does until the end. */
  async nextCollision(): Promise<number | null> {
    const spec = this.spec;
    if (!spec) return null;
    const generation = this.generation;
    let after = this.now_s + 1e-9;
    let span_s = LEAST_S;
    while (after < spec.duration_s) {
      if (!this.isThere(after, Math.min(spec.duration_s, after + 1e-6))) {
        while (this.busy) await new Promise((done) => setTimeout(done, 15));
        this.busy = true;
        try {
          if (!(await this.record(Math.max(0, after - 0.2), Math.min(spec.duration_s, after + span_s), generation))) return null;
        } finally {
          this.busy = false;
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

  /** Losses and timeouts of the flows known to a millisecond, near a time; to the step of the samples elsewhere. */
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
    const width = this.canvas.clientWidth;
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

  /** What is shown, but for its size. */
  view(): Omit<View, "width" | "height"> {
    const { from_s, width_s, nodes, frames, now_s } = this;
    return { from_s, width_s, lanes: this.lanesShown(), nodes, frames, now_s, end_s: this.spec?.duration_s ?? 0 };
  }

  private listen(): void {
    const { canvas } = this;
    let held: { x: number; now: number } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.offsetX, now: this.now_s };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (held) {
        const seconds = ((held.x - event.offsetX) / plotWidth(canvas.clientWidth)) * this.width_s;
        this.moved(Math.min(this.spec?.duration_s ?? 0, Math.max(0, held.now + seconds)));
      } else this.hover(event);
    });
    canvas.addEventListener("pointerup", () => (held = null));
    canvas.addEventListener("pointercancel", () => (held = null));
    canvas.addEventListener("pointerleave", () => (this.tip.hidden = true));
    canvas.addEventListener(
      "wheel",
      (event) => {
        // The page scrolls under the pointer, unless the air was clicked before.
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

/** What a frame is, in words. */
export function describeFrame(frames: Frames, row: number): string {
  const { table } = frames;
  const text = (name: string): string => table.text(name, row);
  const number = (name: string): number => table.numbers(name)[row] ?? NaN;
  const receiver = text("receiver") === "*" ? "everyone" : text("receiver");
  const kind = { data: "Data frame", ack: "ACK", rts: "RTS", cts: "CTS", "block-ack": "Block ACK", "block-ack-request": "Block ACK request" }[text("kind")] ?? text("kind");
  const lines = [
    `${kind} from ${text("sender")} to ${receiver}${number("retry") ? ", sent before" : ""}`,
    `${figure(number("start_s"), 9)} s, ${span(number("end_s") - number("start_s"))} at ${rate(number("rate_bps"))}, ${number("length_bytes")} B`,
  ];
  const packet = text("packet");
  const carried: Record<string, string> = { data: "TCP data", ack: "a TCP ACK", udp: "UDP", icmp: "ICMP", routing: "an announcement of routes" };
  if (packet) {
    const what = packet === "data" ? ` from byte ${number("seq")}, ${number("payload_bytes")} B` : packet === "ack" ? ` up to byte ${number("seq")}` : "";
    lines.push(`carries ${carried[packet] ?? packet}${what}${text("flow") ? ` of ${text("flow")}` : ""}`);
  }
  if (number("nav_s") > 0) lines.push(`reserves ${span(number("nav_s"))} after its end (NAV)`);
  const fate: Record<string, string> = {
    received: "received",
    collision: "lost: it met another frame",
    error: "lost: bits were wrong, or it was too weak",
    unheard: "lost: its receiver did not listen",
  };
  lines.push(fate[text("fate")] ?? text("fate"));
  const others = text("spoilt_at").split(" ").filter((one) => one && !one.startsWith("*") && !one.startsWith(`${receiver}:`));
  if (others.length) lines.push(`not read by ${others.slice(0, 6).join(", ").replace(/:/g, ": ")}`);
  return lines.join("\n");
}

const LEFT = 62;
const plotWidth = (width: number): number => Math.max(50, width - LEFT - 6);

export interface View {
  width: number;
  height: number;
  from_s: number;
  width_s: number;
  lanes: number[];
  nodes: string[];
  frames: Frames | null;
  now_s: number;
  end_s: number;
}

/** A step of 1, 2 or 5 times a power of ten. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return power * ([1, 2, 5, 10].find((one) => one * power >= least) ?? 10);
}

export function paintAir(g: CanvasRenderingContext2D, view: View): void {
  const { width, height, from_s, width_s, lanes, nodes, frames } = view;
  const inside = plotWidth(width);
  const x = (time: number): number => LEFT + ((time - from_s) / width_s) * inside;
  const ink = css("--ink");
  const soft = css("--ink-2");
  g.clearRect(0, 0, width, height);
  g.font = "11px system-ui, sans-serif";
  g.textBaseline = "middle";
  const placeOf = new Int32Array(nodes.length).fill(-1);
  lanes.forEach((lane, place) => {
    placeOf[lane] = place;
    if (place % 2 === 0) {
      g.fillStyle = css("--lane");
      g.fillRect(0, TOP + place * LANE, width, LANE);
    }
  });
  // The axis.
  const step = roundStep(width_s / Math.max(2, inside / 95));
  const unit = step >= 1 ? 1 : step >= 1e-3 ? 1e3 : 1e6;
  const base = width_s < 1 && from_s > 0 ? Math.floor(from_s / (1000 * step)) * 1000 * step : 0;
  g.fillStyle = soft;
  g.strokeStyle = css("--grid");
  g.textAlign = "center";
  for (let tick = Math.ceil(from_s / step) * step; tick <= from_s + width_s; tick += step) {
    const at = x(tick);
    if (at < LEFT) continue;
    g.beginPath();
    g.moveTo(at, TOP - 4);
    g.lineTo(at, height);
    g.stroke();
    const label = Number(((tick - base) * unit).toFixed(3));
    g.fillText(`${base > 0 ? "+" : ""}${label} ${unit === 1 ? "s" : unit === 1e3 ? "ms" : "us"}`, at, 8);
  }
  g.textAlign = "left";
  if (base > 0) g.fillText(`${Number(base.toFixed(6))} s`, 2, 8);
  g.save();
  g.beginPath();
  g.rect(LEFT, 0, width - LEFT, height);
  g.clip();
  if (frames) paintFrames(g, view, x, placeOf, inside);
  g.restore();
  g.fillStyle = ink;
  lanes.forEach((lane, place) => g.fillText(nodes[lane]!, 4, TOP + place * LANE + LANE / 2, LEFT - 8));
  const now = x(view.now_s);
  g.fillStyle = css("--focus");
  g.fillRect(now - 0.75, TOP - 6, 1.5, height);
  // Before the start and behind the end there is nothing.
  g.fillStyle = css("--grid");
  if (from_s < 0) g.fillRect(LEFT, TOP, x(0) - LEFT, height);
  if (from_s + width_s > view.end_s) g.fillRect(x(view.end_s), TOP, width, height);
}

function paintFrames(g: CanvasRenderingContext2D, view: View, x: (time: number) => number, placeOf: Int32Array, inside: number): void {
  const { from_s, width_s } = view;
  const frames = view.frames!;
  const { start, end, sender, receiver, kind, fate, table } = frames;
  const first = firstEnding(end, from_s);
  const last = Math.min(end.length, firstEnding(end, from_s + width_s + frames.longest) + 1);
  const pixel = width_s / inside;
  const isSeen = frames.from_s <= Math.max(0, from_s) && frames.to_s >= Math.min(view.end_s, from_s + width_s);
  let shown = false;
  for (let i = first; i < last && !shown; i++) shown = start[i]! <= from_s + width_s;
  if (isSeen && !shown) {
    g.fillStyle = css("--ink-2");
    g.fillText("nothing is on the air here", LEFT + 10, TOP + LANE / 2);
  }
  if (last - first > 4 * inside) {
    paintDensity(g, view, placeOf, first, last, pixel);
    return;
  }
  const bottom = (lane: number): number => TOP + placeOf[lane]! * LANE + LANE - 4;
  const { backoff } = frames;
  g.fillStyle = "#888";
  for (let i = firstEnding(backoff.end, from_s); i < backoff.end.length; i++) {
    if (backoff.start[i]! > from_s + width_s) {
      if (backoff.start[i]! > from_s + width_s + 1) break;
      continue;
    }
    if (placeOf[backoff.station[i]!]! < 0) continue;
    const left = x(backoff.start[i]!);
    g.fillRect(left, bottom(backoff.station[i]!) - 3, Math.max(0.5, x(backoff.end[i]!) - left), 3);
  }
  // NAV at those who read a frame and are not its receiver.
  const nav = table.numbers("nav_s");
  if (width_s < 0.2) {
    const reads = table.words("read_by");
    const readers = reads.texts.map((text) => (text === "*" ? null : text.split(" ").map((name) => view.nodes.indexOf(name))));
    const everyone = view.lanes;
    g.strokeStyle = "#888";
    g.lineWidth = 1;
    g.beginPath();
    for (let i = first; i < last; i++) {
      if (!(nav[i]! > 0)) continue;
      const [left, right] = [x(end[i]!), x(end[i]! + nav[i]!)];
      for (const lane of readers[reads.codes[i]!] ?? everyone) {
        if (lane === sender[i] || lane === receiver[i] || placeOf[lane]! < 0) continue;
        const y = bottom(lane) + 2;
        for (let at = left; at < right; at += 4) {
          g.moveTo(at, y - 3);
          g.lineTo(at, y + 1);
        }
      }
    }
    g.stroke();
  }
  const high = 19;
  const edges = pixel * 6 < frames.longest;
  for (let i = first; i < last; i++) {
    if (start[i]! > from_s + width_s || placeOf[sender[i]!]! < 0) continue;
    const left = x(start[i]!);
    const wide = Math.max(1, x(end[i]!) - left);
    const top = bottom(sender[i]!) - 5 - high;
    g.fillStyle = KINDS[KIND_NAMES[kind[i]!]!]!.colour;
    g.fillRect(left, top, wide, high);
    if (fate[i] !== 0) hatch(g, left, top, wide, high, fate[i]!);
    if (edges && wide > 3) {
      g.strokeStyle = "#000a";
      g.lineWidth = 0.7;
      g.strokeRect(left, top, wide, high);
    }
    if (wide > 30 && fate[i] === 0) {
      g.fillStyle = ["mac_ack", "data"].includes(KIND_NAMES[kind[i]!]!) ? "#fff" : "#000";
      g.fillText(`→ ${table.text("receiver", i)}`, left + 4, top + high / 2, wide - 6);
    }
    if (table.numbers("retry")[i] && wide > 6) {
      g.fillStyle = css("--ink");
      g.fillText("r", left, top - 4);
    }
  }
}

/** Frames that were lost look so without colour, too. */
function hatch(g: CanvasRenderingContext2D, left: number, top: number, wide: number, high: number, fate: number): void {
  g.save();
  g.beginPath();
  g.rect(left, top, wide, high);
  g.clip();
  g.strokeStyle = "#000";
  g.lineWidth = 1.6;
  g.beginPath();
  for (let at = left - high; at < left + wide; at += 6) {
    g.moveTo(at, top + high);
    g.lineTo(at + high, top);
    if (fate === 1) {
      g.moveTo(at, top);
      g.lineTo(at + high, top + high);
    }
  }
  g.stroke();
  g.restore();
  if (wide < 4) {
    g.fillStyle = "#000";
    g.fillRect(left, top - 3, Math.max(1.5, wide), 3);
  }
}

/** More frames than can be told apart: how much of each pixel's time they take, by kind. */
function paintDensity(g: CanvasRenderingContext2D, view: View, placeOf: Int32Array, first: number, last: number, pixel: number): void {
  const frames = view.frames!;
  const { start, end, sender, kind, fate } = frames;
  const kinds = KIND_NAMES.length + 1;
  const wide = 2;
  const columns = Math.ceil(plotWidth(view.width) / wide);
  const bins = new Float32Array(view.lanes.length * columns * kinds);
  for (let i = first; i < last; i++) {
    const place = placeOf[sender[i]!]!;
    if (place < 0) continue;
    const column = Math.floor((start[i]! - view.from_s) / (wide * pixel));
    if (column < 0 || column >= columns) continue;
    bins[(place * columns + column) * kinds + (fate[i] ? kinds - 1 : kind[i]!)]! += end[i]! - start[i]!;
  }
  const colours = [...KIND_NAMES.map((name) => KINDS[name]!.colour), css("--ink")];
  // Shares of the air are small where many contend: the highest one fills a lane.
  let most = 0;
  for (let at = 0; at < bins.length; at += kinds) {
    let sum = 0;
    for (let k = 0; k < kinds; k++) sum += bins[at + k]!;
    most = Math.max(most, sum);
  }
  const high = (LANE - 7) / Math.max(most, 1e-12);
  for (let k = 0, offset: Float32Array = new Float32Array(bins.length / kinds); k < kinds; k++) {
    g.fillStyle = colours[k]!;
    for (let at = 0; at < offset.length; at++) {
      const size = bins[at * kinds + k]! * high;
      if (size <= 0.05) continue;
      const place = Math.floor(at / columns);
      offset[at]! += size;
      g.fillRect(LEFT + (at % columns) * wide, TOP + (place + 1) * LANE - 3 - offset[at]!, wide, size);
    }
  }
}
