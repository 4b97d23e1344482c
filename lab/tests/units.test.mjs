// What the page computes without a browser: `npm test`.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { test } from "node:test";

import { interval } from "../src/compare.ts";
import { commandLine, fileName } from "../src/copied.ts";
import { clock, figure, rate, span } from "../src/dom.ts";
import { Table } from "../src/engine.ts";
import { quantity } from "../src/form.ts";
import { describeFrame, firstEnding, readFrames } from "../src/frames.ts";
import { describeLosses, happened } from "../src/losses.ts";
import { Curves, jain } from "../src/run.ts";
import { decodeLink, encode } from "../src/share.ts";

/** A table of numbers and texts. */
function table(columns) {
  const made = Object.entries(columns).map(([name, values]) => {
    if (typeof values[0] !== "string") return [name, Float64Array.from(values)];
    const texts = [...new Set(values)];
    return [name, { texts, codes: Uint32Array.from(values, (text) => texts.indexOf(text)) }];
  });
  return new Table(Object.values(columns)[0]?.length ?? 0, new Map(made));
}

test("numbers have three digits, and units", () => {
  assert.deepEqual([0, 1234567, 0.12345, 12.345, NaN].map((x) => figure(x)), ["0", "1,234,567", "0.123", "12.3", "–"]);
  assert.deepEqual([5.46e6, 1e9, 950, 12_345].map(rate), ["5.46 Mb/s", "1.00 Gb/s", "950 b/s", "12.3 kb/s"]);
  assert.deepEqual([2, 0.0123, 34e-6].map(span), ["2 s", "12.3 ms", "34 us"]);
  assert.equal(clock(1.23456, 0.001), "1.235 s");
});

test("a quantity is a number and a unit", () => {
  assert.deepEqual(["20 ms", "-82 dBm", "1e3 B", "fifo", "12"].map(quantity), [[20, "ms"], [-82, "dBm"], [1000, "B"], null, null]);
});

test("Jain's index is n' / n if n' of n flows get the same and the others nothing", () => {
  assert.equal(jain([3, 3, 0, 0]), 0.5);
  assert.equal(jain([7]), 1);
  assert.ok(Number.isNaN(jain([0, 0])));
});

test("an interval is Student's", () => {
  // 1, 2 and 3 have a standard deviation of 1; the 97.5 % quantile for two degrees of freedom is 4.303.
  const [mean, half] = interval([1, NaN, 2, 3]);
  assert.equal(mean, 2);
  assert.ok(Math.abs(half - 4.303 / Math.sqrt(3)) < 1e-12);
  assert.ok(Number.isNaN(interval([5])[1]));
});

test("curves start at the end of the warm-up", () => {
  const flows = table({ name: ["a", "b"], direction: ["up", "down"], goodput_bps: [8, 24] });
  const series = table({
    time_s: [1, 1, 2, 2, 3, 3],
    received_bytes: [100, 0, 1, 3, 1, 3],
    cwnd: [2, 2, 3, 2, 4, 2],
    srtt_s: [0, 0, 0.02, 0, 0.03, 0],
  });
  const queues = table({ time_s: [1, 2], packets: [5, 7] });
  const curves = new Curves({ flows, series, queues, now_s: 3 }, 1);
  assert.deepEqual([...curves.time], [1, 2, 3]);
  assert.equal(curves.jain[2], (2 + 6) ** 2 / (2 * (2 ** 2 + 6 ** 2)));
  assert.equal(curves.ratio[2], 2 / 6);
  assert.deepEqual([...curves.cwnd(0)], [NaN, 3, 4]);
  assert.deepEqual([...curves.srtt(1)], [NaN, NaN, NaN]);
  assert.deepEqual(curves.goodputUntil(1, 2), [8, 24]);
  assert.deepEqual(curves.queues.map((one) => [...one]), [[5, 7]]);
});

test("frames are found by their ends, and described", () => {
  assert.deepEqual([0, 2, 2.5, 9].map((time) => firstEnding(Float64Array.from([1, 2, 3]), time)), [0, 1, 2, 3]);
  const frames = table({
    start_s: [0, 0.002],
    end_s: [0.001, 0.0021],
    sender: ["sta", "ap"],
    receiver: ["ap", "sta"],
    kind: ["data", "ack"],
    packet: ["data", ""],
    fate: ["collision", "received"],
    read_by: ["*", "sta ap"],
    rate_bps: [11e6, 1e6],
    length_bytes: [1064, 14],
    seq: [0, NaN],
    payload_bytes: [1000, NaN],
  });
  const read = readFrames({ frames }, ["ap", "sta"], 0, 1);
  assert.deepEqual([[...read.sender], [...read.receiver], [...read.fate]], [[1, 0], [0, 1], [1, 0]]);
  assert.deepEqual([read.readers[read.readBy[0]], read.readers[read.readBy[1]]], [null, [1, 0]]);
  assert.equal(read.longest, 0.001);
  assert.match(describeFrame(read, 0), /^Data frame from sta to ap\n0 s, 1 ms at 11.0 Mb\/s, 1064 B\ncarries TCP data/);
  assert.match(describeFrame(read, 0), /lost: collision with another frame/);
});

test("losses are said with their places", () => {
  const events = table({ timeouts: [1, 0], retransmissions: [1, 2], data_ap_queue: [0, 3], ack_ap_queue: [0, 0] });
  assert.equal(
    describeLosses(events, [0, 1]),
    "1 timeout: the window shrinks to one segment, 3 segments retransmitted, 3 data packets dropped by the access point's queue",
  );
  assert.deepEqual([happened(events, 0, "loss"), happened(events, 1, "loss"), happened(events, 1, "timeout")], [false, true, false]);
});

test("a link holds the whole state, and a damaged one is refused", () => {
  const state = { text: 'duration = "1 s" # ü', name: "a.toml", seed: "7", width_s: 0.05 };
  const link = encode(state);
  assert.match(link, /^[\w-]+$/);
  assert.deepEqual(decodeLink(link), state);
  assert.throws(() => decodeLink(link.slice(0, -6)));
  assert.throws(() => decodeLink(encode({ text: 5 })), /no state/);
  assert.throws(() => decodeLink(encode({ text: "x".repeat(5_000_000) })));
});

test("a copied command writes the scenario as it is", () => {
  const text = "name = \"it's 100 % \\\\ !\"\ncolour = 'ü`$(id)'";
  const [printf] = commandLine(text, "It's a cell", "1; id").split(" > ");
  assert.equal(execFileSync("sh", ["-c", printf], { encoding: "utf8" }), `${text}\n`);
  assert.ok(commandLine(text, "", "1; id").endsWith("wifair run scenario.toml --seed 1\n"));
  assert.equal(fileName("It's a cell"), "it-s-a-cell");
});
