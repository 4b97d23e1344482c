// Writes what the page shows as files: SVG, PNG, CSV, and traces for Perfetto.

import type { Page } from "./page";
import type { Line, LinePlot } from "./plots";
import type { Table } from "./engine";
import { rate } from "./dom";
import { colour, css } from "./style-data";
import { paintAir } from "./paint";

function download(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

export function downloadText(name: string, text: string, type: string): void {
  download(name, new Blob([text], { type }));
}

const escape = (text: string): string =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

const WIDTH = 460;
const HEIGHT = 230;
const LEFT = 52;
const TOP = 26;
/** Room for half of the last time, and for the numbers of a second axis. */
const RIGHT = 20;
const RIGHT_AXIS = 44;
const BOTTOM = 30;

/** About five round numbers between `low` and `high`. */
function ticks(low: number, high: number): number[] {
  const span = high - low || 1;
  const power = 10 ** Math.floor(Math.log10(span / 5));
  const step = power * [1, 2, 5, 10].find((one) => span / 5 <= one * power)!;
  const found: number[] = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high * 1.0001; tick += step)
    found.push(Number(tick.toPrecision(8)));
  return found;
}

function path(line: Line, time: ArrayLike<number>, x: (t: number) => number, y: (v: number) => number): string {
  let text = "";
  let pen = false;
  let last = 0;
  for (let i = 0; i < time.length; i++) {
    const value = line.values[i]!;
    if (!Number.isFinite(value)) {
      pen = false;
      continue;
    }
    const [px, py] = [x(time[i]!).toFixed(1), y(value).toFixed(1)];
    text += pen ? (line.steps ? `L${px} ${last.toFixed(1)}L${px} ${py}` : `L${px} ${py}`) : `M${px} ${py}`;
    last = y(value);
    pen = true;
  }
  return text;
}

/** One plot as a group of an SVG. */
function plotGroup(plot: LinePlot, end_s: number, x0: number, y0: number): string {
  const { time, lines } = plot.picture;
  const hasRight = lines.some((line) => line.right);
  const [wide, high] = [WIDTH - LEFT - (hasRight ? RIGHT_AXIS : RIGHT), HEIGHT - TOP - BOTTOM];
  const most = (right: boolean): number => {
    let top = 0;
    for (const line of lines) {
      if (Boolean(line.right) !== right) continue;
      for (let i = 0; i < line.values.length; i++)
        if (Number.isFinite(line.values[i]) && line.values[i]! > top) top = line.values[i]!;
    }
    return (top || 1) * 1.06;
  };
  const tops = [plot.axis.high ?? most(false), most(true)];
  const x = (t: number): number => LEFT + (wide * t) / end_s;
  const y =
    (right: boolean) =>
    (v: number): number =>
      TOP + high * (1 - v / tops[Number(right)]!);
  const ink = css("--ink");
  const grid = css("--grid");
  const parts = [
    `<text x="${LEFT}" y="16" font-weight="600">${escape(plot.title)} [${escape(plot.axis.unit)}${hasRight ? `; dashed: ${escape(plot.axis.right ?? "")}` : ""}]</text>`,
  ];
  for (const tick of ticks(0, tops[0]!)) {
    const at = y(false)(tick).toFixed(1);
    parts.push(
      `<path d="M${LEFT} ${at}H${LEFT + wide}" stroke="${grid}"/><text x="${LEFT - 5}" y="${Number(at) + 4}" text-anchor="end">${tick}</text>`,
    );
  }
  if (hasRight) {
    const edge = LEFT + wide;
    for (const tick of ticks(0, tops[1]!))
      parts.push(`<text x="${edge + 5}" y="${(y(true)(tick) + 4).toFixed(1)}">${tick}</text>`);
    parts.push(`<path d="M${edge} ${TOP}V${TOP + high}" stroke="${ink}"/>`);
  }
  for (const tick of ticks(0, end_s))
    parts.push(`<text x="${x(tick).toFixed(1)}" y="${TOP + high + 16}" text-anchor="middle">${tick} s</text>`);
  parts.push(`<path d="M${LEFT} ${TOP}V${TOP + high}H${LEFT + wide}" stroke="${ink}" fill="none"/>`);
  for (const line of lines) {
    const dash = line.dash?.length ? ` stroke-dasharray="${line.dash.join(" ")}"` : "";
    parts.push(
      `<path d="${path(line, time, x, y(Boolean(line.right)))}" fill="none" stroke="${line.colour}" stroke-width="${line.width ?? 1.5}"${dash}><title>${escape(line.label)}</title></path>`,
    );
  }
  return `<g transform="translate(${x0} ${y0})">${parts.join("")}</g>`;
}

/** The plots of the page as an SVG. */
export function pictures(lab: Page): string {
  const plots = Object.values(lab.pictures.lines);
  const end = lab.result?.end_s ?? 1;
  const bars = lab.pictures.bars.bars;
  const ink = css("--ink");
  const cells = Math.ceil((plots.length + 1) / 2);
  const row = 17;
  const listHigh = Math.max(HEIGHT, TOP + bars.length * row + 10);
  const height = 40 + cells * HEIGHT + (listHigh - HEIGHT);
  const most = Math.max(1, ...bars.map((bar) => bar.value));
  const list = bars
    .map((bar, i) => {
      const y = TOP + i * row;
      const wide = (250 * bar.value) / most;
      return `<text x="76" y="${y + 11}" text-anchor="end">${escape(bar.name)}</text><rect x="82" y="${y + 1}" width="${wide.toFixed(1)}" height="12" fill="${colour(bar.flow)}"/><text x="${(88 + wide).toFixed(1)}" y="${y + 11}">${rate(bar.value)}</text>`;
    })
    .join("");
  const groups = [
    `<g transform="translate(0 34)"><text x="${LEFT}" y="16" font-weight="600">Goodput of each flow</text>${list}</g>`,
  ];
  plots.forEach((plot, i) => {
    const cell = i + 1;
    const y = 34 + Math.floor(cell / 2) * HEIGHT + (cell >= 2 ? listHigh - HEIGHT : 0);
    groups.push(plotGroup(plot, end, (cell % 2) * WIDTH, y));
  });
  const title = escape(byTitle(lab));
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${2 * WIDTH}" height="${height}" viewBox="0 0 ${2 * WIDTH} ${height}" font-family="sans-serif" font-size="11" fill="${ink}"><title>${title}</title><rect width="100%" height="100%" fill="${css("--panel")}"/><text x="12" y="22" font-size="14">${title}</text>${groups.join("")}</svg>\n`;
}

const byTitle = (lab: Page): string => document.getElementById("summary")?.textContent ?? lab.name;

/** The plots and the air as a PNG, at twice the resolution of the screen. */
export async function png(lab: Page, name: string): Promise<void> {
  const svg = pictures(lab);
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const { air } = lab;
  const airHigh = air.canvas.clientHeight;
  const scale = 2;
  const canvas = document.createElement("canvas");
  canvas.width = scale * image.width;
  canvas.height = scale * (image.height + airHigh + 8);
  const g = canvas.getContext("2d")!;
  g.scale(scale, scale);
  g.fillStyle = css("--panel");
  g.fillRect(0, 0, canvas.width, canvas.height);
  g.drawImage(image, 0, 0);
  const part = document.createElement("canvas");
  part.width = scale * image.width;
  part.height = scale * airHigh;
  const inner = part.getContext("2d")!;
  inner.scale(scale, scale);
  paintAir(inner, { ...air.view(), width: image.width, height: airHigh });
  g.drawImage(part, 0, image.height, image.width, airHigh);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, "image/png"));
  if (blob) download(name, blob);
}

function cellText(text: string): string {
  return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** A table as CSV (RFC 4180, with line feeds); a cell without a number is empty. */
export function csv(lab: Page, what: "series" | "flows"): string {
  const result = lab.result!;
  const table: Table = result[what];
  const names = lab.lines!.names;
  const columns = table.names;
  const rows = [columns.map(cellText).join(",")];
  for (let row = 0; row < table.rows; row++) {
    rows.push(
      columns
        .map((column) => {
          const words = table.words(column);
          if (words.codes.length) return cellText(table.text(column, row));
          const value = table.numbers(column)[row]!;
          if (what === "series" && column === "flow") return cellText(names[value]!);
          return Number.isNaN(value) ? "" : value === Infinity ? "inf" : String(value);
        })
        .join(","),
    );
  }
  return `${rows.join("\n")}\n`;
}

/** Frames, congestion windows and queues as Chrome trace events, which Perfetto reads. */
export function perfetto(lab: Page): string {
  const nodes = lab.checked!.nodes;
  const lines = lab.lines!;
  const frames = lab.air.frames;
  const us = (seconds: number): number => Number((seconds * 1e6).toFixed(3));
  const events: object[] = [
    { ph: "M", pid: 1, name: "process_name", args: { name: "air" } },
    { ph: "M", pid: 2, name: "process_name", args: { name: "TCP and queues" } },
    ...nodes.map((name, tid) => ({ ph: "M", pid: 1, tid, name: "thread_name", args: { name } })),
  ];
  if (frames) {
    const { table } = frames;
    for (let i = 0; i < frames.start.length; i++) {
      const text = (name: string): string => table.text(name, i);
      const number = (name: string): number => table.numbers(name)[i]!;
      events.push({
        ph: "X",
        pid: 1,
        tid: frames.sender[i],
        ts: us(frames.start[i]!),
        dur: us(frames.end[i]! - frames.start[i]!),
        name: `${text("kind")}${text("packet") && text("packet") !== text("kind") ? ` ${text("packet")}` : ""} to ${text("receiver")}`,
        cat: text("fate"),
        args: {
          fate: text("fate"),
          flow: text("flow"),
          seq: number("seq"),
          retry: number("retry"),
          rate_bps: number("rate_bps"),
          length_bytes: number("length_bytes"),
        },
      });
    }
  }
  lines.names.forEach((name, f) =>
    lines.time.forEach((time, s) => {
      const cwnd = lines.cwnd(f)[s]!;
      if (Number.isFinite(cwnd))
        events.push({ ph: "C", pid: 2, ts: us(time), name: `cwnd ${name}`, args: { segments: cwnd } });
    }),
  );
  lines.queues.forEach((values, ap) =>
    values.forEach((packets, s) =>
      events.push({
        ph: "C",
        pid: 2,
        ts: us(lines.queueTime[s]!),
        name: `AP queue${lines.queues.length > 1 ? ` ${ap + 1}` : ""}`,
        args: { packets },
      }),
    ),
  );
  return JSON.stringify({
    traceEvents: events,
    displayTimeUnit: "ns",
    otherData: { scenario: lab.text, seed: lab.seed },
  });
}
