// The frames of an interval, as they are recorded, and one of them in words.

import { figure, rate, span } from "./dom";
import { EMPTY, type Table } from "./engine";
import { KIND_NAMES } from "./style-data";

const FATES = ["received", "collision", "error", "unheard"];

/** The frames of an interval, as arrays. */
export interface Frames {
  from_s: number;
  to_s: number;
  table: Table;
  start: Float64Array;
  end: Float64Array;
  sender: Int32Array;
  receiver: Int32Array;
  /** Indices into the lists of kinds and of fates. */
  kind: Uint8Array;
  fate: Uint8Array;
  retry: Float64Array;
  nav: Float64Array;
  /** Whether a frame is a CF-End, which ends the NAV of the stations that decode it. */
  endsNav: Uint8Array;
  /** Lanes of the stations that decoded a frame, by `readBy`; null stands for all. */
  readers: (number[] | null)[];
  readBy: Uint32Array;
  /**
   * Lanes of the stations whose basic NAV a frame changes, by `interBssAt`; other stations have one NAV, or it changes
   * their intra-BSS NAV.
   */
  interBss: number[][];
  interBssAt: Uint32Array;
  backoff: { station: Int32Array; start: Float64Array; end: Float64Array };
  losses: Table;
  /** Duration of the longest frame [s]; it bounds a search by start times. */
  longest: number;
}

function kindOf(kind: string, packet: string, length_s: number, hasTcp: boolean): number {
  if (kind === "ack") return KIND_NAMES.indexOf("mac_ack");
  if (kind === "rts" || kind === "cts") return KIND_NAMES.indexOf(kind);
  if (kind === "data" && (packet === "data" || packet === "ack")) return KIND_NAMES.indexOf(packet);
  // The record names no packet for a frame that its receiver already has.
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
  const reads = table.words("read_by");
  const interBss = table.words("inter_bss_at");
  const lanesOf = (names: string): number[] => names.split(" ").map((name) => nodes.indexOf(name));
  // Each pair of kind and packet is mapped once, because there may be many frames.
  const pairs = new Int8Array(kinds.texts.length * packets.texts.length).fill(-1);
  const kind = new Uint8Array(table.rows);
  let longest = 0;
  for (let i = 0; i < kind.length; i++) {
    const [k, p] = [kinds.codes[i]!, packets.codes[i]!];
    const pair = k * packets.texts.length + p;
    const length = end[i]! - start[i]!;
    if (length > longest) longest = length;
    const [kindText, packetText] = [kinds.texts[k]!, packets.texts[p]!];
    if (pairs[pair]! < 0 || packetText === "") pairs[pair] = kindOf(kindText, packetText, length, hasTcp);
    kind[i] = pairs[pair]!;
  }
  const frames: Frames = {
    from_s,
    to_s,
    table,
    start,
    end,
    sender: lanes(table.words("sender"), nodes),
    receiver: lanes(table.words("receiver"), nodes),
    kind,
    fate: Uint8Array.from(fates.codes, (code) => fate[code]!),
    retry: table.numbers("retry"),
    nav: table.numbers("nav_s"),
    endsNav: Uint8Array.from(kinds.codes, (code) => Number(kinds.texts[code] === "cf-end")),
    readers: reads.texts.map((text) => (text === "*" ? null : lanesOf(text))),
    readBy: reads.codes,
    interBss: interBss.texts.map(lanesOf),
    interBssAt: interBss.codes,
    backoff: {
      station: lanes(backoffs.words("station"), nodes),
      start: backoffs.numbers("start_s"),
      end: backoffs.numbers("end_s"),
    },
    losses: tables.events ?? EMPTY,
    longest,
  };
  return frames;
}

/** The first row whose end is not below `time`; rows are sorted by their ends. */
export function firstEnding(ends: Float64Array, time: number): number {
  let [low, high] = [0, ends.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ends[middle]! < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Describes a frame in words. */
export function describeFrame(frames: Frames, row: number): string {
  const { table } = frames;
  const text = (name: string): string => table.text(name, row);
  const number = (name: string): number => table.numbers(name)[row] ?? NaN;
  const receiver = text("receiver") === "*" ? "everyone" : text("receiver");
  const kind =
    {
      data: "Data frame",
      ack: "ACK",
      rts: "RTS",
      cts: "CTS",
      "block-ack": "Block ACK",
      "block-ack-request": "Block ACK request",
    }[text("kind")] ?? text("kind");
  const lines = [
    `${kind} from ${text("sender")} to ${receiver}${number("retry") ? ", a retry" : ""}`,
    `${figure(number("start_s"), 9)} s, ${span(number("end_s") - number("start_s"))} at ${rate(number("rate_bps"))}, ${number("length_bytes")} B`,
  ];
  const packet = text("packet");
  const carried: Record<string, string> = {
    data: "TCP data",
    ack: "a TCP ACK",
    udp: "UDP",
    icmp: "ICMP",
    routing: "a routing message",
  };
  if (packet) {
    const what =
      packet === "data"
        ? ` from byte ${number("seq")}, ${number("payload_bytes")} B`
        : packet === "ack"
          ? ` up to byte ${number("seq")}`
          : "";
    lines.push(`carries ${carried[packet] ?? packet}${what}${text("flow") ? ` of ${text("flow")}` : ""}`);
  }
  if (number("nav_s") > 0) lines.push(`reserves ${span(number("nav_s"))} after its end (NAV)`);
  const fate: Record<string, string> = {
    received: "received",
    collision: "lost: collision with another frame",
    error: "lost: bit errors, or too weak a signal",
    unheard: "lost: the receiver was not listening",
  };
  lines.push(fate[text("fate")] ?? text("fate"));
  const others = text("spoilt_at")
    .split(" ")
    .filter((one) => one && !one.startsWith("*") && !one.startsWith(`${receiver}:`));
  if (others.length) lines.push(`not decoded by ${others.slice(0, 6).join(", ").replace(/:/g, ": ")}`);
  return lines.join("\n");
}
