// Paints the air: each frame, or the fraction of time by kind if there are too many frames.

import { firstEnding, type Frames } from "./frames";
import { css, KIND_NAMES, KINDS } from "./style-data";

/** Height of a station's lane, and the origin of the lanes [pixels]. */
export const LANE = 34;
export const TOP = 20;
export const LEFT = 62;
const HIGH = 19;

export const plotWidth = (width: number): number => Math.max(50, width - LEFT - 6);

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

/** The smallest step of 1, 2 or 5 times a power of ten that is at least `least`. */
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
  // Labels of short intervals count from a round time at the left.
  const round = 10 ** Math.ceil(Math.log10(width_s));
  const base = width_s < 1 && from_s >= round ? Math.floor(from_s / round) * round : 0;
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
    g.textAlign = at > width - 36 ? "right" : "center"; // the last label would be cut at the edge
    if (base === 0 || at > LEFT + 36)
      g.fillText(`${base > 0 ? "+" : ""}${label} ${unit === 1 ? "s" : unit === 1e3 ? "ms" : "us"}`, at, 8);
  }
  g.textAlign = "left";
  if (base > 0) g.fillText(`${Number(base.toFixed(6))} s`, 2, 8, LEFT + 8);
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
  // The area after the end of the run is empty.
  g.fillStyle = css("--grid");
  if (from_s + width_s > view.end_s) g.fillRect(x(view.end_s), TOP, width, height);
}

type Graphics = CanvasRenderingContext2D;

function paintFrames(g: Graphics, view: View, x: (time: number) => number, placeOf: Int32Array, inside: number): void {
  const { from_s, width_s } = view;
  const frames = view.frames!;
  const { start, end, sender, kind, fate } = frames;
  const until_s = from_s + width_s;
  const first = firstEnding(end, from_s);
  const last = Math.min(end.length, firstEnding(end, until_s + frames.longest) + 1);
  const pixel = width_s / inside;
  const isSeen = frames.from_s <= Math.max(0, from_s) && frames.to_s >= Math.min(view.end_s, until_s);
  let isEmpty = true;
  for (let i = first; i < last && isEmpty; i++) isEmpty = start[i]! > until_s;
  if (isSeen && isEmpty) {
    g.fillStyle = css("--ink-2");
    g.fillText("no frames in this interval", LEFT + 10, TOP + LANE / 2);
  }
  if (last - first > 4 * inside) {
    paintDensity(g, view, placeOf, first, last, pixel);
    return;
  }
  const bottom = (lane: number): number => TOP + placeOf[lane]! * LANE + LANE - 4;
  const { backoff } = frames;
  g.fillStyle = "#888";
  for (let i = firstEnding(backoff.end, from_s); i < backoff.end.length; i++) {
    if (backoff.start[i]! > until_s) {
      if (backoff.start[i]! > until_s + 1) break;
      continue;
    }
    if (placeOf[backoff.station[i]!]! < 0) continue;
    const left = x(backoff.start[i]!);
    g.fillRect(left, bottom(backoff.station[i]!) - 3, Math.max(0.5, x(backoff.end[i]!) - left), 3);
  }
  if (width_s < 0.2) paintNav(g, view, x, placeOf, first, last);
  const isEdged = pixel * 6 < frames.longest;
  const top = (i: number): number => bottom(sender[i]!) - 5 - HIGH;
  const isShown = (i: number): boolean => start[i]! <= until_s && placeOf[sender[i]!]! >= 0;
  const widthOf = (i: number, left: number): number => Math.max(1, x(end[i]!) - left);
  // Paint kind by kind: changing the colour costs more than visiting each frame.
  for (let k = 0; k < KIND_NAMES.length; k++) {
    g.fillStyle = KINDS[KIND_NAMES[k]!]!.colour;
    for (let i = first; i < last; i++) {
      if (kind[i] !== k || !isShown(i)) continue;
      const left = x(start[i]!);
      g.fillRect(left, top(i), widthOf(i, left), HIGH);
    }
  }
  // Lost frames are hatched, so that they can be told apart without colour.
  for (const [lost, strokes] of [
    [1, 2],
    [2, 1],
    [3, 1],
  ] as const) {
    let isSet = false;
    for (let i = first; i < last; i++) {
      if (fate[i] !== lost || !isShown(i)) continue;
      const left = x(start[i]!);
      const wide = widthOf(i, left);
      if (!isSet) g.fillStyle = hatching(g, strokes);
      isSet = true;
      g.fillRect(left, top(i), wide, HIGH);
      if (wide < 4) g.fillRect(left, top(i) - 3, Math.max(1.5, wide), 3);
    }
  }
  if (isEdged) {
    g.strokeStyle = "#000a";
    g.lineWidth = 0.7;
    g.beginPath();
    for (let i = first; i < last; i++) {
      const left = x(start[i]!);
      const wide = widthOf(i, left);
      if (wide > 3 && isShown(i)) g.rect(left, top(i), wide, HIGH);
    }
    g.stroke();
  }
  const ink = css("--ink");
  for (let i = first; i < last; i++) {
    const left = x(start[i]!);
    const wide = widthOf(i, left);
    if (wide <= 6 || !isShown(i)) continue;
    if (wide > 30 && fate[i] === 0) {
      g.fillStyle = KINDS[KIND_NAMES[kind[i]!]!]!.ink;
      // The label of a frame that begins before the interval is put in its visible part.
      const at = Math.max(left, LEFT);
      g.fillText(`→ ${frames.table.text("receiver", i)}`, at + 4, top(i) + HIGH / 2, Math.max(1, left + wide - at - 6));
    }
    if (frames.retry[i]) {
      g.fillStyle = ink;
      g.fillText("r", left, top(i) - 4);
    }
  }
}

/** Paints the NAVs of the stations that decoded a frame and are not its receiver, until a CF-End. */
function paintNav(
  g: Graphics,
  view: View,
  x: (time: number) => number,
  placeOf: Int32Array,
  first: number,
  last: number,
): void {
  const { nav, end, endsNav, sender, receiver, readers, readBy, interBss, interBssAt } = view.frames!;
  const [ticked, dashed] = [ticks(g), dashes(g)];
  /** The next CF-End in each lane, for the basic NAV and for the other or only one. */
  const [releasedBasic, released] = [0, 1].map(() => new Float64Array(placeOf.length).fill(Infinity)) as [
    Float64Array,
    Float64Array,
  ];
  for (let i = last - 1; i >= first; i--) {
    const until = end[i]! + nav[i]!;
    if (!endsNav[i] && (!(nav[i]! > 0) || x(until) < LEFT || x(end[i]!) > view.width)) continue;
    const inter = interBss[interBssAt[i]!]!;
    for (const lane of readers[readBy[i]!] ?? view.lanes) {
      if (lane === sender[i] || lane === receiver[i] || !(placeOf[lane]! >= 0)) continue;
      const isBasic = inter.includes(lane);
      const ends = isBasic ? releasedBasic : released;
      if (endsNav[i]) {
        ends[lane] = end[i]!;
        continue;
      }
      const left = x(end[i]!);
      const right = x(Math.min(until, ends[lane]!));
      if (right <= LEFT) continue;
      const bottom = TOP + placeOf[lane]! * LANE + LANE;
      g.fillStyle = isBasic ? dashed : ticked;
      g.fillRect(left, bottom - (isBasic ? 2 : 5), right - left, isBasic ? 2 : 4);
    }
  }
}

const patterns = new Map<string, CanvasPattern>();

/** Returns a fill pattern, drawn once and then cached. */
function pattern(
  g: Graphics,
  name: string,
  width: number,
  height: number,
  draw: (g: Graphics) => void,
): CanvasPattern | string {
  const known = patterns.get(name);
  if (known) return known;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  draw(canvas.getContext("2d")!);
  const made = g.createPattern(canvas, "repeat");
  if (made) patterns.set(name, made);
  return made ?? "#888";
}

/** Hatching in one direction, or in both. */
function hatching(g: Graphics, strokes: number): CanvasPattern | string {
  return pattern(g, `hatch ${strokes}`, 8, 8, (p) => {
    p.lineWidth = 1.4;
    p.strokeStyle = "#000";
    p.beginPath();
    for (const at of [-8, 0, 8]) {
      p.moveTo(at, 8);
      p.lineTo(at + 8, 0);
      if (strokes === 2) {
        p.moveTo(at, 0);
        p.lineTo(at + 8, 8);
      }
    }
    p.stroke();
  });
}

function ticks(g: Graphics): CanvasPattern | string {
  return pattern(g, "ticks", 4, 4, (p) => {
    p.fillStyle = "#888";
    p.fillRect(0, 0, 1, 4);
  });
}

function dashes(g: Graphics): CanvasPattern | string {
  return pattern(g, "dashes", 9, 2, (p) => {
    p.fillStyle = "#777";
    p.fillRect(0, 0, 6, 2);
  });
}

let bins = new Float32Array(0);
let sheet: HTMLCanvasElement | undefined;

/** A colour of six hexadecimal digits as a pixel value. */
function pixelOf(hex: string): number {
  const value = parseInt(hex.slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

/** Paints the fraction of time of each kind per pixel column, for more frames than can be told apart. */
function paintDensity(g: Graphics, view: View, placeOf: Int32Array, first: number, last: number, pixel: number): void {
  const { start, end, sender, kind, fate } = view.frames!;
  const scale = g.getTransform().a;
  const kinds = KIND_NAMES.length + 1;
  const wide = Math.max(1, Math.round(2 * scale));
  const inside = Math.ceil(plotWidth(view.width) * scale);
  const columns = Math.ceil(inside / wide) + 1;
  // Columns are aligned to the time axis, so that nothing flickers while the view moves.
  const column_s = (wide * pixel) / scale;
  const base = Math.floor(view.from_s / column_s);
  const size = view.lanes.length * columns * kinds;
  if (bins.length < size) bins = new Float32Array(size);
  bins.fill(0, 0, size);
  for (let i = first; i < last; i++) {
    const place = placeOf[sender[i]!]!;
    const column = Math.floor(start[i]! / column_s) - base;
    if (place < 0 || column < 0 || column >= columns) continue;
    bins[(place * columns + column) * kinds + (fate[i] ? kinds - 1 : kind[i]!)]! += end[i]! - start[i]!;
  }
  // With many stations each has a small fraction of the air, so the largest is scaled to fill a lane, to within a
  // factor of the square root of 2.
  let most = 0;
  for (let at = 0; at < size; at += kinds) {
    let sum = 0;
    for (let k = 0; k < kinds; k++) sum += bins[at + k]!;
    if (sum > most) most = sum;
  }
  if (most <= 0) return;
  const lane = Math.round(LANE * scale);
  const high = ((LANE - 7) * scale) / 2 ** (Math.ceil(2 * Math.log2(most)) / 2);
  const [imageWide, imageHigh] = [columns * wide, lane * view.lanes.length];
  sheet ??= document.createElement("canvas");
  if (sheet.width !== imageWide || sheet.height !== imageHigh) [sheet.width, sheet.height] = [imageWide, imageHigh];
  const painter = sheet.getContext("2d")!;
  const image = painter.createImageData(imageWide, imageHigh);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = [...KIND_NAMES.map((name) => KINDS[name]!.colour), css("--ink")].map(pixelOf);
  for (let place = 0; place < view.lanes.length; place++) {
    const floor = (place + 1) * lane - Math.round(3 * scale);
    for (let column = 0; column < columns; column++) {
      let sum = 0;
      let y = floor;
      for (let k = 0, at = (place * columns + column) * kinds; k < kinds; k++) {
        sum += bins[at + k]! * high;
        for (const stop = floor - Math.round(sum); y > stop; y--) {
          const row = (y - 1) * imageWide + column * wide;
          pixels.fill(colours[k]!, row, row + wide);
        }
      }
    }
  }
  painter.putImageData(image, 0, 0);
  const offset = Math.round(((base * column_s - view.from_s) / pixel) * scale) / scale;
  g.drawImage(sheet, LEFT + offset, TOP, imageWide / scale, view.lanes.length * LANE);
}
