// The plots of the page and their contents.

import { byId, figure } from "./dom";
import type { Page } from "./page";
import { describeLosses } from "./losses";
import { type Bar, Bars, type Line, LinePlot, Spreads } from "./plots";
import { cell, type Curves, type Result } from "./run";
import { percent, type Share, Shares } from "./shares";
import { colour, dashes, forgetStyles } from "./style-data";

/** Number of flows whose curves are shown at first. */
const FIRST = 8;

export class Pictures {
  readonly bars: Bars;
  private readonly rtt = new Spreads("RTT", "Round-trip times that TCP measured");
  private readonly delay = new Spreads("One-way delay", "Delays of data packets from sender to receiver");
  private readonly air = new Shares(
    "Air time",
    " shares of the measured time",
    "Fractions of the time by what was on the air.",
  );
  private readonly losses = new Shares(
    "Losses",
    " packets by location",
    "Data packets and TCP ACKs that were dropped or given up, of all flows.",
  );
  readonly lines: { goodput: LinePlot; fairness: LinePlot; queue: LinePlot; cwnd: LinePlot; rtt: LinePlot };
  chosen = new Set<number>();
  private names = "";
  private isChosen = false;

  constructor(private readonly lab: Page) {
    const go = (time: number): void => lab.player.go(time);
    this.bars = new Bars((flow) => {
      if (!this.chosen.delete(flow)) this.chosen.add(flow);
      this.isChosen = true;
      this.show();
    });
    this.lines = {
      goodput: new LinePlot(
        "Goodput over time",
        { unit: "Mb/s" },
        go,
        "New payload handed to the application, in each hundredth of the run. Click for a time.",
      ),
      fairness: new LinePlot(
        "Jain's index so far",
        { unit: "1", right: "up / down", high: 1.03 },
        go,
        "Jain's index of the goodput from the end of the warm-up up to each time. Dashed: ratio of uplink to downlink goodput.",
      ),
      queue: new LinePlot("AP queue", { unit: "packets" }, go, "Packets that wait at the access point."),
      cwnd: new LinePlot(
        "cwnd",
        { unit: "segments" },
        go,
        "Congestion windows of the chosen flows. Point at a curve to see why a window shrank.",
        (sample) => this.whyFell(sample),
      ),
      rtt: new LinePlot(
        "Smoothed RTT",
        { unit: "ms" },
        go,
        "TCP's smoothed round-trip time (srtt) of the chosen flows.",
      ),
    };
    const { goodput, fairness, queue, cwnd, rtt } = this.lines;
    byId("plots").append(
      this.bars.root,
      goodput.root,
      fairness.root,
      queue.root,
      cwnd.root,
      rtt.root,
      this.rtt.root,
      this.delay.root,
      this.air.root,
      this.losses.root,
    );
  }

  /** Which windows shrink at a sample, and why: the losses and timeouts of their flows up to it. */
  private whyFell(sample: number): string {
    const { result, lines } = this.lab;
    if (!result || !lines) return "";
    const times = result.losses.numbers("time_s");
    const flows = result.losses.numbers("flow");
    const found: string[] = [];
    for (const flow of this.chosen) {
      const cwnd = lines.cwnd(flow);
      const k = [sample, sample + 1].find((k) => cwnd[k]! < cwnd[k - 1]! - 0.5);
      if (k === undefined) continue;
      // A loss shows in the window only once the sender hears of it, so the two samples before count, too.
      const [from, to] = [lines.time[k - 3] ?? 0, lines.time[k]! + 1e-9];
      const rows = [...times.keys()].filter((row) => flows[row] === flow && times[row]! > from && times[row]! <= to);
      const why = describeLosses(result.losses, rows) || "its congestion control reduced it without a loss";
      found.push(`${lines.names[flow]} from ${figure(cwnd[k - 1]!)} to ${figure(cwnd[k]!)} segments: ${why}`);
    }
    return [...found.slice(0, 3), ...(found.length > 3 ? [`and ${found.length - 3} more`] : [])].join("\n");
  }

  reset(): void {
    this.names = "";
  }

  /** Shows the current run, and the pinned one behind it. */
  show(): void {
    const { result, lines } = this.lab;
    if (!result || !lines) return;
    const names = lines.names.join("\n");
    if (names !== this.names) {
      this.names = names;
      this.isChosen = false;
    }
    if (!this.isChosen) {
      // Of many flows, choose those with the most and the least goodput, which are known when the run is over.
      this.isChosen = result.over;
      const byGoodput = [...result.flows.numbers("goodput_bps")]
        .map((bps, f) => [bps, f] as const)
        .sort((a, b) => b[0] - a[0]);
      const few =
        byGoodput.length <= FIRST ? byGoodput : [...byGoodput.slice(0, FIRST / 2), ...byGoodput.slice(-FIRST / 2)];
      this.chosen = new Set(few.map(([, f]) => f));
    }
    const flows = [...this.chosen].filter((f) => f < lines.names.length).sort((a, b) => a - b);
    const pinned = this.lab.comparison.pinned;
    const end = Math.max(result.end_s, pinned?.result.end_s ?? 0);
    const set = (plot: LinePlot, time: Float64Array, fresh: Line[], before: Line[]): void =>
      plot.show({ time, lines: [...before, ...fresh] }, end);
    type Times = (l: Curves) => Float64Array;
    /** The curves of a pinned run at the times of this one, thin. */
    const old = (times: Times, of: (l: Curves) => (Omit<Line, "values"> & { values: Float64Array })[]): Line[] =>
      pinned
        ? of(pinned.lines).map((line) => ({
            ...line,
            label: `${line.label} pinned`,
            colour: `${line.colour}77`,
            dash: [3, 3],
            width: 1,
            values: resample(times(pinned.lines), line.values, times(lines)),
          }))
        : [];
    /** A curve of each chosen flow; in the pinned run, of the flow of the same name. */
    const ofFlows = (plot: LinePlot, times: Times, of: (l: Curves, flow: number) => Float64Array): void => {
      const here = flows.map((f) => ({
        label: lines.names[f]!,
        values: of(lines, f),
        colour: colour(f),
        dash: dashes(f),
      }));
      const there = (l: Curves): typeof here =>
        here.flatMap((line) =>
          l.names.includes(line.label) ? [{ ...line, values: of(l, l.names.indexOf(line.label)) }] : [],
        );
      set(plot, times(lines), here, old(times, there));
    };
    ofFlows(
      this.lines.goodput,
      (l) => l.bins,
      (l, f) => l.goodput(f),
    );
    ofFlows(
      this.lines.cwnd,
      (l) => l.time,
      (l, f) => l.cwnd(f),
    );
    ofFlows(
      this.lines.rtt,
      (l) => l.time,
      (l, f) => l.srtt(f),
    );
    const index = (l: Curves): (Line & { values: Float64Array })[] => [
      { label: "Jain", values: l.jain, colour: colour(0), width: 2 },
    ];
    const ratio: Line = { label: "up/down", values: lines.ratio, colour: colour(1), dash: [6, 4], right: true };
    set(
      this.lines.fairness,
      lines.time,
      lines.ratio.some(Number.isFinite) ? [...index(lines), ratio] : index(lines),
      old((l) => l.time, index),
    );
    const queues = (l: Curves): (Line & { values: Float64Array })[] =>
      l.queues.slice(0, 8).map((values, ap) => ({
        label: l.queues.length > 1 ? `AP ${ap + 1}` : "queue",
        values,
        colour: colour(ap),
        steps: true,
        width: 1.3,
      }));
    set(
      this.lines.queue,
      lines.queueTime,
      queues(lines),
      old((l) => l.queueTime, queues),
    );
    const named = (prefix: string, first: string): string[] => [
      `${prefix}_${first}_s`,
      ...["p50", "p95", "p99", "max"].map((one) => `${prefix}_${one}_s`),
    ];
    this.rtt.show(spreads(result, named("rtt", "min")));
    this.delay.show(spreads(result, named("owd", "idle")));
    this.air.show(airShares(result));
    this.losses.show(losses(result));
    this.atTime(this.lab.player.now_s);
  }

  /** Shows in the bars the goodput up to `now_s`. */
  atTime(now_s: number): void {
    const { result, lines, checked } = this.lab;
    if (!result || !lines) return;
    const pinned = this.lab.comparison.pinned;
    const goodput = lines.goodputUntil(checked?.warm_up_s ?? 0, now_s);
    const before = pinned?.lines.goodputUntil(pinned.warmUp_s, now_s >= result.end_s ? Infinity : now_s);
    const bars: Bar[] = lines.names.map((name, flow) => ({
      name,
      flow,
      value: goodput[flow] ?? 0,
      pinned: before?.[pinned!.lines.names.indexOf(name)],
    }));
    this.bars.show(
      bars,
      this.chosen,
      now_s < result.end_s ? ` of each flow, until ${now_s.toFixed(1)} s` : " of each flow",
    );
    const visible = now_s < result.end_s;
    for (const plot of Object.values(this.lines)) plot.now(now_s, visible);
  }

  /** Draws the plots that are not on the screen, too. */
  catchUp(): void {
    for (const plot of Object.values(this.lines)) plot.catchUp();
  }

  redraw(): void {
    forgetStyles();
    for (const plot of Object.values(this.lines)) plot.redraw();
    this.show();
    this.lab.air.draw();
  }
}

function spreads(
  result: Result,
  names: string[],
): { name: string; flow: number; at: [number, number, number, number, number] }[] {
  const { flows } = result;
  const columns = names.map((name) => flows.numbers(name));
  return flows.texts("name").map((name, flow) => ({
    name,
    flow,
    at: columns.map((column) => column[flow] ?? NaN) as [number, number, number, number, number],
  }));
}

const AIR: [string, string, number][] = [
  ["air_data", "data", 0],
  ["air_ack", "ACK", 2],
  ["air_rts_cts", "RTS, CTS", 4],
  ["air_collision", "collisions", 1],
  ["air_error", "errors", 6],
  ["air_reuse", "spatial reuse", 5],
  ["air_idle", "idle", 7],
];

function airShares(result: Result): Share[] {
  return AIR.flatMap(([column, name, place]) => {
    const value = cell(result, column);
    return value > 0 ? [{ name, value, text: percent(value), colour: colour(place) }] : [];
  });
}

const LOST: [string, string][] = [
  ["ap_queue", "AP queue"],
  ["station_queue", "station queue"],
  ["link_queue", "wired queue"],
  ["retry_limit", "retry limit"],
  ["ap_scheme", "AP scheme"],
  ["no_route", "no route"],
  ["lifetime", "lifetime over"],
  ["late", "arrived too late"],
];

function losses(result: Result): Share[] {
  const sum = (column: string): number => result.flows.numbers(column).reduce((a, b) => a + b, 0);
  const rows = [["data", "data", 0] as const, ["ack", "ACK", 5] as const].flatMap(([kind, word, place]) =>
    LOST.map(([column, where]) => ({
      name: `${word}, ${where}`,
      value: sum(`${kind}_drops_${column}`),
      colour: colour(place),
    })),
  );
  return rows.filter((one) => one.value > 0).map((one) => ({ ...one, text: figure(one.value) }));
}

/** The last value at or before each time in `onto`. */
function resample(time: Float64Array, values: Float64Array, onto: Float64Array): Float64Array {
  if (time.length === onto.length && time.at(-1) === onto.at(-1)) return values;
  let at = -1;
  return onto.map((t) => {
    while (at + 1 < time.length && time[at + 1]! <= t + 1e-9) at++;
    return at < 0 ? NaN : values[at]!;
  });
}
