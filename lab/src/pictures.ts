// The plots of the page: which there are, and what they show.

import { byId } from "./dom";
import type { Lab } from "./main";
import { type Bar, Bars, flowLines, type Line, LinePlot, pinnedLines, Spreads } from "./plots";
import { type Curves, goodputUntil, type Result } from "./run";
import { colour } from "./style-data";

/** Flows whose curves are shown at first. */
const FIRST = 8;

export class Pictures {
  readonly bars: Bars;
  readonly spreads = new Spreads();
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
      fairness: new LinePlot("Jain's index so far", { unit: "1", right: "up / down", high: 1.03 }, go, "Of the goodput from the end of the warm-up until each time; dashed the ratio of uplink to downlink goodput."),
      queue: new LinePlot("AP queue", { unit: "packets" }, go, "Packets that wait at the access point."),
      cwnd: new LinePlot("cwnd", { unit: "segments" }, go, "Congestion windows of the chosen flows."),
      rtt: new LinePlot("Smoothed RTT", { unit: "ms" }, go, "Smoothed round-trip time, as TCP has it, of the chosen flows."),
    };
    const { goodput, fairness, queue, cwnd, rtt } = this.lines;
    byId("plots").append(this.bars.root, goodput.root, fairness.root, queue.root, cwnd.root, rtt.root, this.spreads.root);
  }

  reset(): void {
    this.names = "";
  }

  /** Shows the run of the page, and the pinned one behind it. */
  show(): void {
    const { result, lines } = this.lab;
    if (!result || !lines) return;
    const names = lines.names.join("\n");
    if (names !== this.names) {
      // Of many flows those at both ends of the goodput tell most.
      this.names = names;
      const byGoodput = [...result.flows.numbers("goodput_bps")].map((bps, f) => [bps, f] as const).sort((a, b) => b[0] - a[0]);
      const few = byGoodput.length <= FIRST ? byGoodput : [...byGoodput.slice(0, FIRST / 2), ...byGoodput.slice(-FIRST / 2)];
      this.chosen = new Set(few.map(([, f]) => f));
    }
    const flows = [...this.chosen].filter((f) => f < lines.names.length).sort((a, b) => a - b);
    const pinned = this.lab.comparison.pinned;
    const end = Math.max(result.end_s, pinned?.result.end_s ?? 0);
    // A pinned run with other flows or samples is brought to the times of this one.
    const old = (values: (l: Curves) => number[][], time: (l: Curves) => number[], onto: number[]): number[][] =>
      pinned ? values(pinned.lines).map((one) => resample(time(pinned.lines), one, onto)) : [];
    const set = (plot: LinePlot, time: number[], fresh: Line[], before: Line[]): void =>
      plot.show({ time, lines: [...before, ...fresh] }, end);
    const mega = (values: number[][]): number[][] => values.map((one) => one.map((bps) => bps / 1e6));
    set(this.lines.goodput, lines.bins, flowLines(lines.names, flows, mega(lines.goodput)), pinnedLines(lines.names, flows, old((l) => mega(l.goodput), (l) => l.bins, lines.bins)));
    set(this.lines.cwnd, lines.time, flowLines(lines.names, flows, lines.cwnd), pinnedLines(lines.names, flows, old((l) => l.cwnd, (l) => l.time, lines.time)));
    set(this.lines.rtt, lines.time, flowLines(lines.names, flows, lines.srtt), pinnedLines(lines.names, flows, old((l) => l.srtt, (l) => l.time, lines.time)));
    const fairness: Line[] = [{ label: "Jain", values: lines.jain, colour: colour(0), width: 2 }];
    if (lines.ratio.some(Number.isFinite)) fairness.push({ label: "up/down", values: lines.ratio, colour: colour(1), dash: [6, 4], right: true });
    const before: Line[] = old((l) => [l.jain], (l) => l.time, lines.time).map((values) => ({ label: "Jain pinned", values, colour: `${colour(0)}88`, dash: [3, 3], width: 1.5 }));
    set(this.lines.fairness, lines.time, fairness, before);
    const queueLines = (list: number[][], what: string): Line[] =>
      list.slice(0, 8).map((values, ap) => ({ label: list.length > 1 ? `AP ${ap + 1}${what}` : `queue${what}`, values, colour: what ? `${colour(ap)}77` : colour(ap), steps: true, width: what ? 1 : 1.3, dash: what ? [3, 3] : undefined }));
    set(this.lines.queue, lines.queueTime, queueLines(lines.queues, ""), queueLines(old((l) => l.queues, (l) => l.queueTime, lines.queueTime), " pinned"));
    this.spreads.show(spreads(result));
    this.atTime(this.lab.player.now_s);
  }

  /** The bars count until the present. */
  atTime(now_s: number): void {
    const { result, lines, checked } = this.lab;
    if (!result || !lines) return;
    const pinned = this.lab.comparison.pinned;
    const goodput = goodputUntil(result, lines, checked?.warm_up_s ?? 0, now_s);
    const before = pinned && goodputUntil(pinned.result, pinned.lines, pinned.warmUp_s, now_s >= result.end_s ? Infinity : now_s);
    const bars: Bar[] = lines.names.map((name, flow) => ({ name, flow, value: goodput[flow] ?? 0, pinned: before?.[flow] }));
    this.bars.show(bars, this.chosen);
    const visible = now_s < result.end_s;
    for (const plot of Object.values(this.lines)) plot.now(now_s, visible);
  }

  redraw(): void {
    for (const plot of Object.values(this.lines)) plot.redraw();
    this.show();
    this.lab.air.draw();
  }
}

function spreads(result: Result): { name: string; flow: number; at: [number, number, number, number, number] }[] {
  const { flows } = result;
  const columns = ["rtt_min_s", "rtt_p50_s", "rtt_p95_s", "rtt_p99_s", "rtt_max_s"].map((name) => flows.numbers(name));
  return flows.texts("name").map((name, flow) => ({
    name,
    flow,
    at: columns.map((column) => column[flow] ?? NaN) as [number, number, number, number, number],
  }));
}

/** The last value at or before each time. */
function resample(time: number[], values: number[], onto: number[]): number[] {
  let at = -1;
  return onto.map((t) => {
    while (at + 1 < time.length && time[at + 1]! <= t + 1e-9) at++;
    return at < 0 ? NaN : values[at]!;
  });
}
