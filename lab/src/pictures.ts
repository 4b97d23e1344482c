// The plots of the page and their contents.

import { byId, figure } from "./dom";
import type { Lab } from "./main";
import { describeLoss } from "./losses";
import { type Bar, Bars, flowLines, type Line, LinePlot, pinnedLines, Spreads } from "./plots";
import { cell, type Curves, goodputUntil, type Result } from "./run";
import { percent, type Share, Shares } from "./shares";
import { colour, forgetStyles } from "./style-data";

/** Number of flows whose curves are shown at first. */
const FIRST = 8;

export class Pictures {
  readonly bars: Bars;
  private readonly rtt = new Spreads("RTT", "Round-trip times that TCP measured");
  private readonly delay = new Spreads("One-way delay", "Delays of data packets from sender to receiver");
  private readonly air = new Shares("Air time", " shares of the measured time", "Fractions of the time by what was on the air.");
  private readonly losses = new Shares("Losses", " packets by location", "Data packets and TCP ACKs that were dropped or given up, of all flows.");
  readonly lines: { goodput: LinePlot; fairness: LinePlot; queue: LinePlot; cwnd: LinePlot; rtt: LinePlot };
  chosen = new Set<number>();
  private names = "";

  constructor(private readonly lab: Lab) {
    const go = (time: number): void => lab.player.go(time);
    this.bars = new Bars((flow) => {
      if (!this.chosen.delete(flow)) this.chosen.add(flow);
      this.show();
    });
    this.lines = {
      goodput: new LinePlot("Goodput over time", { unit: "Mb/s" }, go, "New payload handed to the application, in each hundredth of the run. Click for a time."),
      fairness: new LinePlot("Jain's index so far", { unit: "1", right: "up / down", high: 1.03 }, go, "Jain's index of the goodput from the end of the warm-up up to each time. Dashed: ratio of uplink to downlink goodput."),
      queue: new LinePlot("AP queue", { unit: "packets" }, go, "Packets that wait at the access point."),
      cwnd: new LinePlot("cwnd", { unit: "segments" }, go, "Congestion windows of the chosen flows. Point at a curve to see why a window shrank.", (time) => this.whyFell(time)),
      rtt: new LinePlot("Smoothed RTT", { unit: "ms" }, go, "TCP's smoothed round-trip time (srtt) of the chosen flows."),
    };
    const { goodput, fairness, queue, cwnd, rtt } = this.lines;
    byId("plots").append(this.bars.root, goodput.root, fairness.root, queue.root, cwnd.root, rtt.root, this.rtt.root, this.delay.root, this.air.root, this.losses.root);
  }

  /** Losses and timeouts of the chosen flows around a time. */
  private whyFell(time_s: number): string {
    const { result, lines } = this.lab;
    if (!result || !lines) return "";
    const times = result.losses.numbers("time_s");
    const flows = result.losses.numbers("flow");
    const step = (lines.time[1] ?? 1) - (lines.time[0] ?? 0);
    const found: string[] = [];
    for (let row = 0; row < times.length && found.length < 5; row++) {
      if (Math.abs(times[row]! - time_s) > 1.1 * step || !this.chosen.has(flows[row]!)) continue;
      found.push(`${Number(times[row]!.toPrecision(6))} s, ${lines.names[flows[row]!]}: ${describeLoss(result.losses, row)}`);
    }
    return found.join("\n");
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
      // Of many flows, choose those with the most and the least goodput.
      this.names = names;
      const byGoodput = [...result.flows.numbers("goodput_bps")].map((bps, f) => [bps, f] as const).sort((a, b) => b[0] - a[0]);
      const few = byGoodput.length <= FIRST ? byGoodput : [...byGoodput.slice(0, FIRST / 2), ...byGoodput.slice(-FIRST / 2)];
      this.chosen = new Set(few.map(([, f]) => f));
    }
    const flows = [...this.chosen].filter((f) => f < lines.names.length).sort((a, b) => a - b);
    const pinned = this.lab.comparison.pinned;
    const end = Math.max(result.end_s, pinned?.result.end_s ?? 0);
    // A pinned run with other samples is resampled at the times of this one.
    const old = (values: (l: Curves) => number[][], time: (l: Curves) => number[], onto: number[]): number[][] =>
      pinned ? values(pinned.lines).map((one) => resample(time(pinned.lines), one, onto)) : [];
    const namesakes = pinned ? lines.names.map((name) => pinned.lines.names.indexOf(name)) : [];
    const set = (plot: LinePlot, time: number[], fresh: Line[], before: Line[]): void =>
      plot.show({ time, lines: [...before, ...fresh] }, end);
    const mega = (values: number[][]): number[][] => values.map((one) => one.map((bps) => bps / 1e6));
    set(this.lines.goodput, lines.bins, flowLines(lines.names, flows, mega(lines.goodput)), pinnedLines(lines.names, flows, namesakes, old((l) => mega(l.goodput), (l) => l.bins, lines.bins)));
    set(this.lines.cwnd, lines.time, flowLines(lines.names, flows, lines.cwnd), pinnedLines(lines.names, flows, namesakes, old((l) => l.cwnd, (l) => l.time, lines.time)));
    set(this.lines.rtt, lines.time, flowLines(lines.names, flows, lines.srtt), pinnedLines(lines.names, flows, namesakes, old((l) => l.srtt, (l) => l.time, lines.time)));
    const fairness: Line[] = [{ label: "Jain", values: lines.jain, colour: colour(0), width: 2 }];
    if (lines.ratio.some(Number.isFinite)) fairness.push({ label: "up/down", values: lines.ratio, colour: colour(1), dash: [6, 4], right: true });
    const before: Line[] = old((l) => [l.jain], (l) => l.time, lines.time).map((values) => ({ label: "Jain pinned", values, colour: `${colour(0)}88`, dash: [3, 3], width: 1.5 }));
    set(this.lines.fairness, lines.time, fairness, before);
    const queueLines = (list: number[][], what: string): Line[] =>
      list.slice(0, 8).map((values, ap) => ({ label: list.length > 1 ? `AP ${ap + 1}${what}` : `queue${what}`, values, colour: what ? `${colour(ap)}77` : colour(ap), steps: true, width: what ? 1 : 1.3, dash: what ? [3, 3] : undefined }));
    set(this.lines.queue, lines.queueTime, queueLines(lines.queues, ""), queueLines(old((l) => l.queues, (l) => l.queueTime, lines.queueTime), " pinned"));
    const named = (prefix: string, first: string): string[] => [`${prefix}_${first}_s`, ...["p50", "p95", "p99", "max"].map((one) => `${prefix}_${one}_s`)];
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
    const goodput = goodputUntil(result, lines, checked?.warm_up_s ?? 0, now_s);
    const before = pinned && goodputUntil(pinned.result, pinned.lines, pinned.warmUp_s, now_s >= result.end_s ? Infinity : now_s);
    const bars: Bar[] = lines.names.map((name, flow) => ({ name, flow, value: goodput[flow] ?? 0, pinned: before?.[pinned!.lines.names.indexOf(name)] }));
    this.bars.show(bars, this.chosen, now_s < result.end_s ? ` of each flow, until ${now_s.toFixed(1)} s` : " of each flow");
    const visible = now_s < result.end_s;
    for (const plot of Object.values(this.lines)) plot.now(now_s, visible);
  }

  redraw(): void {
    forgetStyles();
    for (const plot of Object.values(this.lines)) plot.redraw();
    this.show();
    this.lab.air.draw();
  }
}

function spreads(result: Result, names: string[]): { name: string; flow: number; at: [number, number, number, number, number] }[] {
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
];

function losses(result: Result): Share[] {
  const sum = (column: string): number => result.flows.numbers(column).reduce((a, b) => a + b, 0);
  const rows = [["data", "data", 0] as const, ["ack", "ACK", 5] as const].flatMap(([kind, word, place]) =>
    LOST.map(([column, where]) => ({ name: `${word}, ${where}`, value: sum(`${kind}_drops_${column}`), colour: colour(place) })),
  );
  return rows.filter((one) => one.value > 0).map((one) => ({ ...one, text: figure(one.value) }));
}

/** The last value at or before each time in `onto`. */
function resample(time: number[], values: number[], onto: number[]): number[] {
  let at = -1;
  return onto.map((t) => {
    while (at + 1 < time.length && time[at + 1]! <= t + 1e-9) at++;
    return at < 0 ? NaN : values[at]!;
  });
}
