// Runs on an engine: starts them, advances them in pieces so that the page stays responsive, and derives curves.

import { ask, EMPTY, type Engine, type Reply, type Table } from "./engine";

export interface Problem {
  message: string;
  key?: string;
  line?: number;
  column?: number;
  width?: number;
}

/** An invalid scenario: its problems, with the text that the command line prints. */
export class ScenarioError extends Error {
  constructor(
    readonly problems: Problem[],
    text: string,
  ) {
    super(text);
  }
}

export interface Spec {
  text: string;
  name: string;
  seed: string;
  duration_s: number;
  /** Whether few samples are enough, because no curves are shown. */
  coarse?: boolean;
}

export interface Result {
  spec: Spec;
  now_s: number;
  end_s: number;
  over: boolean;
  measured_s: number;
  events: number;
  flows: Table;
  cell: Table;
  stations: Table;
  sessions: Table;
  series: Table;
  queues: Table;
  losses: Table;
}

/** Number of samples of a run, about one for each pixel of a plot. */
export const SAMPLES = 400;
const FEW_SAMPLES = 20;
/** Real time that a piece of a run takes, about [ms]; short, so that a newer run need not wait. */
const PIECE_MS = 40;
const PARTIAL_MS = 120;
/** The page asks before it continues a run that takes longer than this [s]. */
export const LONG_S = 20;
/** Later than any run. */
const EVER_NS = String(2n ** 64n - 1n);

/** The number of events in a piece of a run, learned from the time that earlier pieces took. */
export class Pieces {
  events = 200_000;

  learn(events: number, took_ms: number): void {
    if (events < this.events / 2) return; // most of the time was spent outside the core
    const fitting = Math.min(4 * this.events, (events * PIECE_MS) / Math.max(took_ms, 1));
    // Other programs can make a piece slower but never faster, so a slow piece has less weight.
    const trust = fitting > this.events ? 0.5 : 0.15;
    this.events = Math.round(Math.max(LEAST_EVENTS, this.events + trust * (fitting - this.events)));
  }
}

const LEAST_EVENTS = 50_000;
const pieces = new Pieces();

export interface Hooks {
  /** Receives the results so far. */
  partial?: (result: Result) => void;
  progress?: (share: number) => void;
  /** Decides whether to continue a run that will take this many more seconds. */
  long?: (seconds: number) => Promise<boolean>;
  /** Whether the result is no longer needed. */
  outdated: () => boolean;
}

/** Throws a `ScenarioError` if a reply lists problems. */
export function complain(head: { problems?: Problem[]; text?: string }): void {
  if (head.problems) throw new ScenarioError(head.problems, head.text ?? "");
}

/** A change of a key, to be applied before a run. */
export interface Edit {
  path: string;
  value: string | null;
}

/** The state after the first piece of a run. */
export interface Begun {
  /** The text with the change applied. */
  text: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  checked: any;
  result: Result;
}

/** Applies a change, checks the text, and runs a first piece, all in one request, so that results keep up with a slider. */
export async function begin(engine: Engine, text: string, name: string, seed: string, edit: Edit | null): Promise<{ edited: string; begun: () => Begun }> {
  const before = performance.now();
  const reply = await ask(engine, {
    ask: "change",
    ...{ text, name, seed, samples: SAMPLES, until_ns: EVER_NS, most_events: pieces.events },
    ...(edit ? { path: edit.path, value: edit.value } : {}),
  });
  const { head } = reply;
  return {
    edited: head.edited,
    begun: () => {
      complain(head);
      pieces.learn(head.events, performance.now() - before);
      const spec = { text: head.edited, name, seed, duration_s: head.checked.duration_s };
      return { text: head.edited, checked: head.checked, result: resultOf(reply, spec) };
    },
  };
}

/** Simulates a whole run; returns null if it was abandoned. */
export async function simulate(engine: Engine, spec: Spec, hooks: Hooks): Promise<Result | null> {
  const { text, name, seed } = spec;
  const { head } = await ask(engine, { ask: "begin", text, name, seed, samples: spec.coarse ? FEW_SAMPLES : SAMPLES });
  complain(head);
  return goOn(engine, spec, { events: 0, now_s: 0 }, hooks);
}

/** Continues a run to its end; returns null if it was abandoned. */
export async function goOn(engine: Engine, spec: Spec, reached: { events: number; now_s: number }, hooks: Hooks): Promise<Result | null> {
  let { events } = reached;
  const started = performance.now();
  let shown = started;
  let pause_ms = PARTIAL_MS;
  let agreed = hooks.long === undefined;
  for (;;) {
    if (hooks.outdated()) return null;
    const before = performance.now();
    const { head } = await ask(engine, { ask: "advance", until_ns: EVER_NS, most_events: pieces.events });
    if (hooks.outdated()) return null;
    if (head.over) return columns(engine, spec);
    pieces.learn(head.events - events, performance.now() - before);
    events = head.events;
    const here = performance.now();
    if (here - shown > pause_ms) {
      hooks.progress?.(head.now_s / head.end_s);
      if (hooks.partial) {
        const part = await columns(engine, spec);
        if (hooks.outdated()) return null;
        hooks.partial(part);
      }
      shown = performance.now();
      pause_ms = Math.max(PARTIAL_MS, 3 * (shown - here)); // most of the time goes to the run itself
    }
    const left_s = (((here - started) / 1000) * (head.end_s - head.now_s)) / (head.now_s - reached.now_s);
    if (!agreed && head.now_s > reached.now_s && here - started > 1000 && left_s > LONG_S) {
      if (!(await hooks.long?.(left_s))) return null;
      agreed = true;
    }
  }
}

export async function columns(engine: Engine, spec: Spec): Promise<Result> {
  return resultOf(await ask(engine, { ask: "columns" }), spec);
}

function resultOf({ head, tables }: Reply, spec: Spec): Result {
  const table = (name: string): Table => tables[name] ?? EMPTY;
  return {
    spec,
    now_s: head.now_s,
    end_s: head.end_s,
    over: head.over,
    measured_s: head.measured_s,
    events: head.events,
    flows: table("flows"),
    cell: table("cell"),
    stations: table("stations"),
    sessions: table("sessions"),
    series: table("series"),
    queues: table("queues"),
    losses: table("events"),
  };
}

export const cell = (result: Result, name: string): number => result.cell.numbers(name)[0] ?? NaN;

/** Jain's index. */
export function jain(values: ArrayLike<number>): number {
  let sum = 0;
  let squares = 0;
  for (let i = 0; i < values.length; i++) {
    sum += values[i]!;
    squares += values[i]! ** 2;
  }
  return squares > 0 ? sum ** 2 / (values.length * squares) : NaN;
}

/** The curves of a run over time. */
export interface Curves {
  names: string[];
  directions: string[];
  /** Times of the samples. */
  time: number[];
  /** For each flow. */
  cwnd: number[][];
  srtt: number[][];
  /** Bytes of each flow received up to each sample. */
  received: Float64Array[];
  /** Ends of the time bins of the goodput, and the goodput of each flow in each bin [bit/s]. */
  bins: number[];
  goodput: number[][];
  jain: number[];
  ratio: number[];
  queueTime: number[];
  /** The queue of each access point [packets]. */
  queues: number[][];
}

const BINS = 100;

export function curves(result: Result, warmUp_s: number): Curves {
  const names = result.flows.texts("name");
  const directions = result.flows.texts("direction");
  const count = names.length;
  const { series, queues } = result;
  const samples = count ? Math.floor(series.rows / count) : 0;
  const at = series.numbers("time_s");
  const time = Array.from({ length: samples }, (_, s) => at[s * count]!);
  const pick = (column: string, scale = 1): number[][] => {
    const values = series.numbers(column);
    return names.map((_, f) => time.map((_, s) => (values[s * count + f] ?? NaN) * scale));
  };
  const fresh = series.numbers("received_bytes");
  const received = names.map((_, f) => {
    const sums = new Float64Array(samples);
    let sum = 0;
    for (let s = 0; s < samples; s++) sums[s] = sum += fresh[s * count + f]!;
    return sums;
  });
  const every = Math.max(1, Math.ceil(samples / BINS));
  const bins: number[] = [];
  const goodput: number[][] = names.map(() => []);
  let last = -1;
  for (let s = every - 1; s < samples; s += every) {
    const span = time[s]! - (last < 0 ? 0 : time[last]!);
    bins.push(time[s]!);
    for (let f = 0; f < count; f++) {
      const bytes = received[f]![s]! - (last < 0 ? 0 : received[f]![last]!);
      goodput[f]!.push(span > 0 ? (8 * bytes) / span : NaN);
    }
    last = s;
  }
  const first = Math.max(0, time.findIndex((t) => t >= warmUp_s));
  const jains: number[] = [];
  const ratios: number[] = [];
  const since = new Float64Array(count);
  for (let s = 0; s < samples; s++) {
    let [up, down] = [0, 0];
    for (let f = 0; f < count; f++) {
      since[f] = s > first ? received[f]![s]! - received[f]![first]! : received[f]![s]!;
      if (directions[f] === "up") up += since[f]!;
      else if (directions[f] === "down") down += since[f]!;
    }
    jains.push(jain(since));
    ratios.push(down > 0 ? up / down : NaN);
  }
  const where = queues.numbers("medium");
  const when = queues.numbers("time_s");
  const packets = queues.numbers("packets");
  let aps = 0;
  while (aps < when.length && when[aps] === when[0]) aps++;
  const queueTime: number[] = [];
  const waiting: number[][] = Array.from({ length: aps }, () => []);
  for (let row = 0; aps && row + aps <= where.length; row += aps) {
    queueTime.push(when[row]!);
    for (let ap = 0; ap < aps; ap++) waiting[ap]!.push(packets[row + ap]!);
  }
  return {
    names,
    directions,
    time,
    cwnd: pick("cwnd"),
    srtt: pick("srtt_s", 1000),
    received,
    bins,
    goodput,
    jain: jains,
    ratio: ratios,
    queueTime,
    queues: waiting,
  };
}

/** Goodput of each flow from the end of the warm-up to `now_s` [bit/s]. */
export function goodputUntil(result: Result, lines: Curves, warmUp_s: number, now_s: number): number[] {
  if (now_s >= result.now_s) return [...result.flows.numbers("goodput_bps")];
  const upTo = lines.time.findLastIndex((t) => t <= now_s);
  const from = now_s > warmUp_s ? lines.time.findLastIndex((t) => t <= warmUp_s) : -1;
  return lines.received.map((sums) => {
    const bytes = (sums[upTo] ?? 0) - (from >= 0 ? sums[from]! : 0);
    const span = (lines.time[upTo] ?? 0) - (from >= 0 ? lines.time[from]! : 0);
    return span > 0 ? (8 * bytes) / span : 0;
  });
}
