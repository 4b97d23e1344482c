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

/** A sentence of what happened, with the figures it rests on; the core writes it. */
export interface Finding {
  topic: string;
  text: string;
  advice: string[];
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
  facts: Finding[];
}

/** Number of samples of a run, about one for each pixel of a plot. */
export const SAMPLES = 400;
const FEW_SAMPLES = 20;
/** Real time that a piece of a run takes, about [ms]; short, so that a newer run need not wait. */
const PIECE_MS = 40;
/** Real time between two results of a run in progress [ms]; each delays the end of the run. */
const PARTIAL_MS = 250;
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

/**
 * Applies a change, checks the text, and runs a first piece, all in one request, so that results keep up with a slider.
 */
export async function begin(
  engine: Engine,
  text: string,
  name: string,
  seed: string,
  edit: Edit | null,
): Promise<{ edited: string; begun: () => Begun }> {
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
export async function goOn(
  engine: Engine,
  spec: Spec,
  reached: { events: number; now_s: number },
  hooks: Hooks,
): Promise<Result | null> {
  let { events } = reached;
  const started = performance.now();
  let shown = started;
  let pause_ms = PARTIAL_MS;
  let agreed = hooks.long === undefined;
  const advance = (): Promise<Reply> => ask(engine, { ask: "advance", until_ns: EVER_NS, most_events: pieces.events });
  let ahead: Promise<Reply> | undefined;
  for (;;) {
    if (hooks.outdated()) return null;
    const before = performance.now();
    const { head } = await (ahead ?? advance());
    if (hooks.outdated()) return null;
    if (head.over) return columns(engine, spec);
    if (!ahead) pieces.learn(head.events - events, performance.now() - before);
    ahead = undefined;
    events = head.events;
    const here = performance.now();
    if (here - shown > pause_ms) {
      hooks.progress?.(head.now_s / head.end_s);
      if (hooks.partial) {
        const part = await columns(engine, spec);
        if (hooks.outdated()) return null;
        ahead = advance(); // the run goes on while the page draws
        ahead.catch(() => {}); // nobody may wait for it any more
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
    facts: head.facts ?? [],
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

const BINS = 100;

/** The curves of a run over time, each computed when it is first asked for: of many flows only some are shown. */
export class Curves {
  readonly names: string[];
  readonly directions: string[];
  /** Whether some flows go up and some down, so that their ratio says something. */
  readonly bothWays: boolean;
  /** Times of the samples. */
  readonly time: Float64Array;
  /** Ends of the time bins of the goodput. */
  readonly bins: Float64Array;
  /** Jain's index and the ratio of uplink to downlink bytes, from the end of the warm-up up to each sample. */
  readonly jain: Float64Array;
  readonly ratio: Float64Array;
  readonly queueTime: Float64Array;
  /** The queue of each access point [packets]. */
  readonly queues: Float64Array[];
  private readonly ends: number[] = [];
  /** Bytes received up to each sample: a row for each sample, a column for each flow. */
  private readonly sums: Float64Array;
  private readonly known = new Map<string, Float64Array>();

  constructor(
    private readonly result: Result,
    warmUp_s: number,
  ) {
    const { flows, series, queues } = result;
    this.names = flows.texts("name");
    this.directions = flows.texts("direction");
    const count = this.names.length;
    const samples = count ? Math.floor(series.rows / count) : 0;
    const at = series.numbers("time_s");
    this.time = new Float64Array(samples).map((_, s) => at[s * count]!);
    this.sums = series.numbers("received_bytes").slice(0, samples * count);
    for (let i = count; i < this.sums.length; i++) this.sums[i]! += this.sums[i - count]!;
    const every = Math.max(1, Math.ceil(samples / BINS));
    for (let s = every - 1; s < samples; s += every) this.ends.push(s);
    this.bins = Float64Array.from(this.ends, (s) => this.time[s]!);
    this.jain = new Float64Array(samples);
    this.ratio = new Float64Array(samples);
    const first = Math.max(
      0,
      this.time.findIndex((t) => t >= warmUp_s),
    );
    this.bothWays = this.directions.includes("up") && this.directions.includes("down");
    const ways = this.directions.map((way) => (way === "up" ? 0 : way === "down" ? 1 : 2));
    const since = new Float64Array(count);
    for (let s = 0; s < samples; s++) {
      const both = [0, 0, 0];
      for (let f = 0; f < count; f++) {
        since[f] = this.sums[s * count + f]! - (s > first ? this.sums[first * count + f]! : 0);
        both[ways[f]!]! += since[f]!;
      }
      this.jain[s] = jain(since);
      this.ratio[s] = this.bothWays && both[1]! > 0 ? both[0]! / both[1]! : NaN;
    }
    const when = queues.numbers("time_s");
    const packets = queues.numbers("packets");
    let aps = 0;
    while (aps < when.length && when[aps] === when[0]) aps++;
    const rows = aps ? Math.floor(when.length / aps) : 0;
    const nth = (values: Float64Array, ap: number): Float64Array =>
      new Float64Array(rows).map((_, row) => values[row * aps + ap]!);
    this.queueTime = nth(when, 0);
    this.queues = Array.from({ length: aps }, (_, ap) => nth(packets, ap));
  }

  private once(key: string, make: () => Float64Array): Float64Array {
    let values = this.known.get(key);
    if (!values) this.known.set(key, (values = make()));
    return values;
  }

  private column(name: string, flow: number, scale: number): Float64Array {
    return this.once(`${name} ${flow}`, () => {
      const [all, count] = [this.result.series.numbers(name), this.names.length];
      return new Float64Array(this.time.length).map((_, s) => all[s * count + flow]! * scale);
    });
  }

  /**
   * The congestion window of a flow [segments], once it is in use: before, it is the initial one, and no round trip is
   * measured.
   */
  cwnd(flow: number): Float64Array {
    return this.once(`window ${flow}`, () => {
      const [windows, rtt] = [this.column("cwnd", flow, 1), this.srtt(flow)];
      const used = windows.findIndex((window, s) => rtt[s]! > 0 || (window !== windows[0] && Number.isFinite(window)));
      return windows.map((window, s) => (used >= 0 && s >= used ? window : NaN));
    });
  }

  /** The smoothed round-trip time of a flow [ms], once one is measured. */
  srtt(flow: number): Float64Array {
    return this.once(`round trip ${flow}`, () => this.column("srtt_s", flow, 1000).map((rtt) => (rtt > 0 ? rtt : NaN)));
  }

  /** The goodput of a flow in each bin [Mb/s]. */
  goodput(flow: number): Float64Array {
    return this.once(`goodput ${flow}`, () => {
      const values = new Float64Array(this.ends.length);
      let [bytes, time] = [0, 0];
      this.ends.forEach((s, bin) => {
        const [bytesNow, timeNow] = [this.sums[s * this.names.length + flow]!, this.time[s]!];
        values[bin] = timeNow > time ? (8e-6 * (bytesNow - bytes)) / (timeNow - time) : NaN;
        [bytes, time] = [bytesNow, timeNow];
      });
      return values;
    });
  }

  /** Goodput of each flow from the end of the warm-up to `now_s` [bit/s]. */
  goodputUntil(warmUp_s: number, now_s: number): number[] {
    if (now_s >= this.result.now_s) return [...this.result.flows.numbers("goodput_bps")];
    const count = this.names.length;
    const upTo = this.time.findLastIndex((t) => t <= now_s);
    const from = now_s > warmUp_s ? this.time.findLastIndex((t) => t <= warmUp_s) : -1;
    const span = (this.time[upTo] ?? 0) - (this.time[from] ?? 0);
    return this.names.map((_, f) =>
      span > 0 ? (8 * ((this.sums[upTo * count + f] ?? 0) - (this.sums[from * count + f] ?? 0))) / span : 0,
    );
  }
}
