// Explains from the records what happened in a run and why, in the sentences of `wifair explain` (a test compares them).

import { rate as shortRate } from "./dom";
import type { Tree } from "./form";
import type { Checked } from "./main";
import { cell, type Result } from "./run";

export interface Finding {
  topic: string;
  text: string;
  advice: string[];
}

/** Below this R-factor many users are dissatisfied (ITU-T G.109). */
const SATISFIED = 70;
const FEW = 6;
/** The part of a mean below which a flow starves. */
const STARVED = 0.1;
/** The part of what a flow asks for that satisfies it. */
const SATED = 0.95;
/** The part of the rate of a wired link from which the link is full. */
const FULL = 0.9;
/** The part of the data packets from which dropped ACKs are told. */
const MANY_ACKS = 0.05;
/** The access point sends more often than each station if it does so by this factor. */
const MORE_OFTEN = 1.2;

/** Formats a number like Python's `.3g`. */
function general(x: number, digits = 3): string {
  if (!Number.isFinite(x)) return String(x);
  if (x === 0) return "0";
  const power = Math.floor(Math.log10(Math.abs(Number(x.toPrecision(digits)))));
  if (power >= -4 && power < digits) {
    const text = x.toPrecision(digits);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }
  const [mantissa, exponent] = x.toExponential(digits - 1).split("e") as [string, string];
  const short = mantissa.includes(".") ? mantissa.replace(/\.?0+$/, "") : mantissa;
  return `${short}e${exponent[0]}${exponent.slice(1).padStart(2, "0")}`;
}

/** A number with three digits, or with all before the point. */
const plain = (x: number): string => (x >= 999.5 ? x.toFixed(0).replace(/\B(?=(\d{3})+$)/g, ",") : general(x));

const percent = (x: number): string => `${(100 * x).toFixed(1)} %`;

function rate(bps: number): string {
  for (const [unit, size] of [["Gb/s", 1e9], ["Mb/s", 1e6], ["kb/s", 1e3], ["b/s", 1]] as const) {
    if (bps >= size || size === 1) return bps < 100 * size ? `${general(bps / size)} ${unit}` : `${(bps / size).toFixed(0)} ${unit}`;
  }
  return shortRate(bps);
}

function time(seconds: number): string {
  if (seconds > 0 && seconds < 1e-4) return `${general(1e6 * seconds)} µs`;
  return seconds < 1 ? `${general(1e3 * seconds)} ms` : `${general(seconds)} s`;
}

const sum = (values: ArrayLike<number>): number => Array.prototype.reduce.call(values, (a, b) => (a as number) + (b as number), 0) as number;
const mean = (values: number[]): number => sum(values) / values.length;
const list = (parts: string[]): string => (parts.length === 1 ? parts[0]! : `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}`);
/** How many there are, as `counted` of words.py. */
const counted = (count: number, what: string): string => `${plain(count)} ${what}${plain(count) === "1" ? "" : "s"}`;
const some = (names: string[]): string => (names.length <= FEW + 1 ? list(names) : `${names.slice(0, FEW).join(", ")} and ${names.length - FEW} more`);
const first = (values: number[], pick: (...v: number[]) => number): number => values.indexOf(pick(...values));
/** Indices in descending order of their values, without NaN. */
const ranked = (values: number[]): number[] =>
  values
    .map((_, i) => i)
    .filter((i) => !Number.isNaN(values[i]))
    .sort((a, b) => values[b]! - values[a]! || a - b);

class Records {
  readonly names: string[];
  readonly directions: string[];
  /** Whether each flow is known to have got what it asked for. */
  readonly sated: boolean[];

  constructor(
    readonly result: Result,
    readonly checked: Checked,
  ) {
    this.names = result.flows.texts("name");
    this.directions = result.flows.texts("direction");
    this.sated = satedFlows(result);
  }

  cell = (name: string): number => cell(this.result, name);
  flows = (name: string): number[] => [...this.result.flows.numbers(name)];
  stations = (name: string): number[] => [...this.result.stations.numbers(name)];
  group = (flow: number): { [key: string]: Tree } => {
    const groups = this.checked.tree.flows as { [key: string]: Tree }[];
    return groups[this.checked.flows[flow]!.group] ?? {};
  };
  /** Whether the flow always had something to send. */
  persistent = (flow: number): boolean => (this.group(flow).workload ?? "persistent") === "persistent" && !this.sated[flow];
  /** The table of stations or servers that `name` comes from. */
  found = (kind: "stations" | "servers", name: string): { [key: string]: Tree } | undefined =>
    ((this.checked.tree[kind] ?? []) as { [key: string]: Tree }[]).find((one) => name.startsWith(String(one.name)) && /^[\d-]*$/.test(name.slice(String(one.name).length)));
}

/** Which flows got what they asked for: datagrams do not wait, a session of TCP may be the slower the less it gets. */
function satedFlows(result: Result): boolean[] {
  const [goodput, asked, mos] = ["goodput_bps", "asked_bps", "mos"].map((name) => [...result.flows.numbers(name)]) as [number[], number[], number[]];
  return goodput.map((bps, f) => (Number.isFinite(mos[f]!) || bps < STARVED * mean(goodput)) && bps >= SATED * asked[f]!);
}

export function explain(result: Result, checked: Checked): Finding[] {
  if (!result.flows.rows) return [];
  const records = new Records(result, checked);
  const rules = [shares, starved, directions, droppedAcks, acksDroppedAtStations, droppedData, timeouts, waiting, calls, wires, limits, sessions, radio, collisions, slowStations, slowReceivers, air];
  return rules.flatMap((rule) => {
    const found = rule(records);
    return found ? [{ ...found, advice: (found.advice ?? []).filter((change) => !chosen(checked.tree, change)) }] : [];
  });
}

/** Whether the scenario has this value already, as in `ap.queue.discipline=las`. */
function chosen(tree: Tree, change: string): boolean {
  const [path, value] = change.split(/=(.*)/s) as [string, string];
  return String(path.split(".").reduce((at: Tree | undefined, key) => (at as { [key: string]: Tree } | undefined)?.[key], tree)) === value;
}

type Found = { topic: string; text: string; advice?: string[] } | null;

function shares(r: Records): Found {
  const goodput = r.flows("goodput_bps");
  if (r.names.length === 1) return { topic: "goodput", text: `${r.names[0]} gets ${rate(goodput[0]!)}.` };
  const [content, hungry] = [true, false].map((which) => goodput.map((_, f) => f).filter((f) => r.sated[f] === which)) as [number[], number[]];
  let text = `${r.names.length} flows get ${rate(r.cell("goodput_bps"))} together`;
  if (content.length && hungry.length) text += `. ${some(content.map((f) => r.names[f]!))} ${content.length > 1 ? "get what they ask" : "gets what it asks"} for; `;
  else text += hungry.length ? ": " : ", all that they ask for";
  const [most, least] = [Math.max, Math.min].map((pick) => hungry[first(hungry.map((f) => goodput[f]!), pick)]!) as [number, number];
  if (hungry.length === 1) text += `${r.names[most]} gets ${rate(goodput[most]!)}`;
  else if (hungry.length && goodput[most]! > 1.1 * Math.max(goodput[least]!, 1e-9)) {
    const which = content.length ? `of the others, ${r.names[most]} gets` : r.names[most];
    text += `${which} most with ${rate(goodput[most]!)}, ${r.names[least]} least with ${rate(goodput[least]!)}`;
  } else if (hungry.length) text += `${content.length ? "the others get" : "all get"} about the same`;
  const jain = r.cell("jain_index");
  if (!Number.isNaN(jain)) text += `. Jain's index${content.length && hungry.length ? " of all" : ""} is ${jain.toFixed(3)}`;
  return { topic: "goodput", text: `${text}.` };
}

function starved(r: Records): Found {
  const column = r.flows("starved");
  const hit = r.names.filter((_, f) => column[f]! > 0);
  if (!hit.length || r.names.length === 1) return null;
  return { topic: "starved", text: `Less than a tenth of an equal share goes to ${some(hit)}.` };
}

function directions(r: Records): Found {
  if (Number.isNaN(r.cell("up_down_ratio")) || Number.isNaN(r.cell("uplink_share"))) return null;
  const goodput = r.flows("goodput_bps");
  const of = (way: string): number[] => goodput.filter((_, f) => r.directions[f] === way && r.persistent(f));
  const [up, down] = [of("up"), of("down")];
  if (!up.length || !down.length || !sum(down)) return null;
  const ratio = mean(up) / mean(down);
  let text = `An uplink flow gets ${rate(mean(up))} on average, a downlink flow ${rate(mean(down))}`;
  if (ratio > 1 / 1.1 && ratio < 1.1) return { topic: "up, down", text: `${text}: about the same.` };
  text += `, ${Number(Math.max(ratio, 1 / ratio).toPrecision(2))} times ${ratio > 1 ? "less" : "more"}.`;
  const marks = (way: string): string =>
    [...new Set(r.names.flatMap((_, f) => (r.directions[f] === way && r.persistent(f) ? [`${r.group(f).category} ${r.group(f).dscp}`] : [])))].sort().join();
  if (marks("up") !== marks("down")) {
    text += " They differ in `category` or `dscp`, and so in priority: not the direction alone decides.";
    return { topic: "up, down", text };
  }
  const ap = r.result.stations.texts("name").indexOf("ap");
  if (ratio < 1 || ap < 0) return { topic: "up, down", text };
  const [delivered, attempts] = [r.stations("delivered"), r.stations("attempts")];
  const often = attempts[ap]! > MORE_OFTEN * Math.max(...attempts.filter((_, i) => i !== ap));
  text += ` The access point delivers ${percent(delivered[ap]! / sum(delivered))} of all frames`;
  text += often ? ", and" : ": it gets the air no more often than each station, and";
  text += " all downloads and the ACKs of all uploads have to share that.";
  return { topic: "up, down", text, advice: ["ap.scheme.window=b-over-n", "ap.scheme.window=wmax-over-n", "ap.queue.discipline=las"] };
}

function droppedAcks(r: Records): Found {
  const dropped = r.cell("ap_drops_ack");
  if (!dropped || Number.isNaN(dropped)) return null;
  let text = `The access point drops ${counted(dropped, "TCP ACK")}: its queue is full ${percent(r.cell("ap_queue_full_fraction"))} of the time. ACKs are cumulative, so a sender with a large window hardly notices`;
  const [windows, expired] = [r.flows("cwnd_mean"), r.flows("timeouts")];
  const hit = expired.map((count) => count > 0);
  if (hit.some(Boolean) && !hit.every(Boolean)) {
    const [small, large] = [windows.filter((_, f) => hit[f]), windows.filter((_, f) => !hit[f])];
    text += `; one with a small window may lose all of them and waits for its timer: the mean window is ${general(mean(small))} segments where timers expired, ${general(mean(large))} where none did`;
  } else if (hit.every(Boolean)) text += "; one that has lost its window may lose all of them, and waits for its timer";
  return { topic: "lost ACKs", text: `${text}.`, advice: ["ap.queue.discipline=las", "ap.scheme.window=b-over-n", "ap.queue.discipline=dual"] };
}

function acksDroppedAtStations(r: Records): Found {
  const [dropped, sent] = [r.flows("ack_drops_station_queue"), r.flows("data_packets_sent")];
  const many = ranked(dropped).filter((f) => dropped[f]! > MANY_ACKS * sent[f]!);
  if (!many.length) return null;
  const parts = many.slice(0, FEW).map((f) => `${plain(dropped[f]!)} of ${r.names[f]}`);
  const more = many.length > FEW ? `, and of ${counted(many.length - FEW, "more flow")}` : "";
  let text = `TCP ACKs dropped in stations' queues: ${parts.join(", ")}${more}`;
  if (sum(r.stations("mpdus")) > 2 * sum(r.stations("ppdus"))) {
    text += ". What arrives in one aggregate is acknowledged at once, with more packets than these queues hold";
  }
  const groups = many.map((f) => r.found("stations", String(r.group(f).station ?? ""))?.name).filter((name) => name !== undefined);
  return { topic: "lost ACKs", text: `${text}.`, advice: [...new Set(groups)].sort().map((name) => `stations.${String(name)}.queue.limit=1000 packets`) };
}

/** The first wired link that is full, so that flows that want more cannot get it, whatever the air allows. */
function wires(r: Records): Found {
  // What arrived: goodput counts what waited behind a gap when the gap closes, and may exceed the rate.
  const carried = r.flows("throughput_bps");
  const only = String(((r.checked.tree.servers ?? []) as { [key: string]: Tree }[])[0]?.name ?? "");
  const ends = r.names.map((_, f) => String(r.group(f).server ?? only));
  for (const name of [...new Set(ends)].filter(Boolean).sort()) {
    const server = r.found("servers", name);
    const copies = name === server?.name ? Number(server.count ?? 1) : 1;
    const [number, unit] = String(server?.rate ?? "").split(" ");
    const limit = Number(number) * ({ "b/s": 1, "kb/s": 1e3, "Mb/s": 1e6, "Gb/s": 1e9 }[unit ?? ""] ?? Infinity) * copies;
    for (const way of ["up", "down"]) {
      const flows = ends.map((_, f) => f).filter((f) => ends[f] === name && r.directions[f] === way);
      const used = sum(flows.map((f) => carried[f]!));
      if (used > FULL * limit && !flows.every((f) => r.sated[f])) {
        return {
          topic: "wire",
          text: `The wired ${copies > 1 ? `links of ${name} are` : `link of ${name} is`} full: ${way}link flows carry ${rate(used)} of ${rate(limit)}, headers not included, and cannot get more, whatever the air allows.`,
          advice: limit < 1e9 ? [`servers.${String(server!.name)}.rate=1 Gb/s`] : [],
        };
      }
    }
  }
  return null;
}

const PLACES: [string, string][] = [
  ["data_drops_ap_queue", "in the access point's queue"],
  ["data_drops_station_queue", "in stations' queues"],
  ["data_drops_link_queue", "in queues of wired links"],
  ["data_drops_retry_limit", "at the MAC's retry limit"],
  ["data_drops_ap_scheme", "by a scheme of the access point"],
  ["data_drops_lifetime", "by the MAC, as their lifetime was over"],
  ["data_drops_late", "by receivers that had stopped waiting for them"],
];

function droppedData(r: Records): Found {
  const found = PLACES.map(([column, where]) => ({ column, where, count: sum(r.flows(column)) })).filter((one) => one.count > 0);
  if (!found.length) return null;
  found.sort((a, b) => b.count - a.count);
  let text = `Lost data packets: ${list(found.map((one) => `${plain(one.count)} ${one.where}`))}.`;
  const lost = r.flows(found[0]!.column);
  if (lost.length > 1 && Math.max(...lost) > 2 * Math.max(mean(lost), 1)) {
    text += ` ${r.names[first(lost, Math.max)]} loses most, ${plain(Math.max(...lost))}.`;
  }
  return { topic: "lost data", text };
}

function timeouts(r: Records): Found {
  const expired = r.flows("timeouts");
  if (!sum(expired)) return null;
  const order = ranked(expired).filter((f) => expired[f]! > 0);
  const parts = order.slice(0, FEW).map((f) => `${r.names[f]} ${plain(expired[f]!)}`);
  const more = order.length > FEW ? `, and ${counted(order.length - FEW, "more flow")}` : "";
  const times = sum(expired);
  const often = times === 1 ? "once" : counted(times, "time");
  let text = `Retransmission timers expire ${often}: ${parts.join(", ")}${more}.`;
  const goodput = r.flows("goodput_bps");
  const [hit, spared] = [goodput.filter((_, f) => expired[f]! > 0), goodput.filter((_, f) => expired[f] === 0)];
  if (hit.length && spared.length && mean(spared) > 1.1 * mean(hit)) {
    text += ` Flows with timeouts get ${rate(mean(hit))} on average, those without ${rate(mean(spared))}.`;
  }
  return { topic: "timeouts", text };
}

function waiting(r: Records): Found {
  const [means, least] = [r.flows("rtt_mean_s"), r.flows("rtt_min_s")];
  const known = means.map((_, f) => f).filter((f) => !Number.isNaN(means[f]!) && !Number.isNaN(least[f]!));
  if (!known.length) return null;
  const [average, base] = [mean(known.map((f) => means[f]!)), mean(known.map((f) => least[f]!))];
  if (average < 2 * base || average < 1e-3) return null;
  const queue = r.cell("ap_queue_mean_packets");
  let text = `Round trips take ${time(average)} on average, the shortest take ${time(base)}: the rest is waiting in queues`;
  if (queue > 1) text += `. The access point's holds ${queue.toFixed(1)} packets on average`;
  const increase = r.flows("latency_increase_s").filter((x, f) => known.includes(f) && !Number.isNaN(x));
  if (increase.length) text += `. Tests of bufferbloat would give this a grade of ${grade(mean(increase))}`;
  return { topic: "waiting", text: `${text}.`, advice: queue > 10 ? ["ap.scheme.window=b-over-n", "ap.queue.discipline=fq-codel"] : [] };
}

/** The bufferbloat grade by the bounds of the DSLReports speed test and of Waveform's bufferbloat test. */
function grade(increase_s: number): string {
  const bounds: [number, string][] = [[0.005, "A+"], [0.03, "A"], [0.06, "B"], [0.2, "C"], [0.4, "D"]];
  return bounds.find(([bound]) => increase_s < bound)?.[1] ?? "F";
}

function calls(r: Records): Found {
  const rating = r.flows("r_factor");
  const bad = ranked(rating.map((x) => -x)).filter((f) => rating[f]! < SATISFIED);
  if (!bad.length) return null;
  const worst = bad[0]!;
  const [score, lost, late] = [r.flows("mos")[worst]!, r.flows("loss_fraction")[worst]!, r.flows("owd_p99_s")[worst]!];
  const more = bad.length > 1 ? `; ${counted(bad.length - 1, "more flow")} ${bad.length > 2 ? "have" : "has"} an R-factor below ${SATISFIED}` : "";
  return {
    topic: "calls",
    text: `As a call, ${r.names[worst]} would sound bad: a mean opinion score of ${score.toFixed(1)} (R-factor ${rating[worst]!.toFixed(0)}), for ${percent(lost)} of its datagrams are lost and one in a hundred takes ${time(late)} or more${more}.`,
    // Another discipline helps only if packets wait at the access point.
    advice: r.cell("ap_queue_mean_packets") > 1 ? ["ap.queue.discipline=fq-codel"] : [],
  };
}

function segments(limit: string, mss: string): number {
  const [number, unit] = limit.split(" ") as [string, string];
  if (unit.startsWith("packet")) return Number(number);
  const scale: Record<string, number> = { B: 1, kB: 1e3, MB: 1e6, GB: 1e9 };
  return (Number(number) * (scale[unit] ?? NaN)) / Number(mss.split(" ")[0]);
}

function limits(r: Records): Found {
  const { series } = r.result;
  const count = r.names.length;
  const cwnd = series.numbers("cwnd");
  const shares = new Map<number, number>();
  for (let f = 0; f < count; f++) {
    const tcp = r.group(f).tcp as { [key: string]: Tree } | undefined;
    if (!tcp) continue;
    const bounds = ["receive_window", "max_cwnd"].flatMap((key) => (typeof tcp[key] === "string" ? [segments(tcp[key], String(tcp.mss))] : []));
    const bound = Math.min(...bounds);
    if (!Number.isFinite(bound)) continue;
    let [at, samples] = [0, 0];
    for (let row = f; row < cwnd.length; row += count, samples++) if (cwnd[row]! >= Math.floor(bound) - 0.01) at++;
    if (samples) shares.set(f, at / samples);
  }
  const held = [...shares].filter(([, share]) => share > 0.5);
  if (held.length) {
    const who = held.length < count ? some(held.map(([f]) => r.names[f]!)) : held.length > 1 ? "all flows" : r.names[held[0]![0]]!;
    return { topic: "limits", text: `The receive window (or \`max_cwnd\`) holds ${who} back: ${held.length > 1 ? "their congestion windows are" : "its congestion window is"} at it ${percent(mean(held.map(([, share]) => share)))} of the time.` };
  }
  if (!shares.size) return null;
  return { topic: "limits", text: "Congestion control, not the receive window, decides how much flows send: no window is at its bound for half of the time." };
}

function sessions(r: Records): Found {
  const index = r.cell("instantaneous_fairness");
  if (Number.isNaN(index)) return null;
  const [done, late] = [r.cell("sessions_finished"), r.cell("sessions_unfinished")];
  return {
    topic: "sessions",
    text: `${counted(done, "transmission session")} finish${done === 1 ? "es" : ""}, ${plain(late)} ${late === 1 ? "does" : "do"} not. Their instantaneous fairness is ${index.toFixed(3)}: 1 is a session that takes no longer than with an equal share of the capacity.`,
  };
}

function radio(r: Records): Found {
  const [attempts, errors, givenUp] = [r.stations("attempts"), r.stations("errors"), r.stations("given_up")];
  const names = r.result.stations.texts("name");
  const share = errors.map((count, i) => count / Math.max(attempts[i]!, 1));
  const bad = ranked(share).filter((i) => share[i]! > 0.02);
  if (!bad.length) return null;
  const parts = bad.slice(0, FEW).map((i) => `${names[i]} ${percent(share[i]!)}`);
  return {
    topic: "bad radio",
    text: `Transmission attempts that fail because of errors, not collisions: ${parts.join(", ")}. The MAC retries them, and gives up ${counted(sum(bad.map((i) => givenUp[i]!)), "frame")}.`,
    advice: "space" in r.checked.tree ? [`wlan.rate_adaptation=minstrel${/^802\.11[abg]$/.test(r.checked.standard ?? "") ? "" : "-ht"}`] : [],
  };
}

function collisions(r: Records): Found {
  // Where all stations hear each other, those that rarely send may also collide more often, without being hidden.
  if (!("space" in r.checked.tree)) return null;
  const attempts = r.stations("attempts");
  const names = r.result.stations.texts("name");
  const share = r.stations("collisions").map((count, i) => count / Math.max(attempts[i]!, 1));
  const busy = attempts.map((_, i) => i).filter((i) => attempts[i]! > 0.02 * sum(attempts));
  if (busy.length < 2) return null;
  const values = busy.map((i) => share[i]!);
  const [most, least] = [Math.max(...values), Math.min(...values)];
  // Attempts collide with those of the others, so a station that sends less may collide more, hidden or not.
  const others = (i: number): number => Math.max(sum(attempts) - attempts[busy[i]!]!, 1);
  const alike = Math.max(1, others(first(values, Math.max)) / others(first(values, Math.min)));
  if (most <= 0.1 || most <= 2 * alike * least) return null;
  return {
    topic: "collisions",
    text: `${percent(most)} of the attempts of ${names[busy[first(values, Math.max)]!]} collide, but only ${percent(least)} of those of ${names[busy[first(values, Math.min)]!]}: hidden stations or the capture effect cause this.`,
    advice: ["wlan.rts_threshold=0 B"],
  };
}

function slowStations(r: Records): Found {
  const names = r.result.stations.texts("name");
  const [delivered, data] = [r.stations("delivered"), r.stations("air_data_s")]; // collisions say nothing of how slow it is
  const uploads = new Set(
    r.checked.flows.flatMap((flow, f) => (r.directions[f] === "up" && r.persistent(f) ? [flow.from] : [])),
  );
  const used = names.map((_, i) => i).filter((i) => delivered[i]! > 0.02 * Math.max(sum(delivered), 1) && uploads.has(names[i]!));
  if (used.length < 2) return null;
  const each = used.map((i) => data[i]! / delivered[i]!);
  const [slow, fast] = [first(each, Math.max), first(each, Math.min)];
  if (each[slow]! <= 2 * each[fast]!) return null;
  return {
    topic: "slow station",
    text: `A frame of ${names[used[slow]!]} takes ${(1e3 * each[slow]!).toFixed(2)} ms of air, one of ${names[used[fast]!]} ${(1e3 * each[fast]!).toFixed(2)} ms. Channel access is fair in frames, so the slow one takes time from all.`,
    advice: ["ap.queue.discipline=airtime"],
  };
}

function slowReceivers(r: Records): Found {
  const names = r.result.stations.texts("name");
  const [down, airTo, got] = [r.checked.flows.map((_, f) => r.directions[f] === "down"), r.stations("air_to_station_s"), r.flows("goodput_bps")];
  const goodput = names.map((name) => sum(got.filter((_, f) => down[f] && r.checked.flows[f]!.to === name)));
  const receivers = names.map((_, i) => i).filter((i) => r.checked.flows.some((flow, f) => down[f] && r.persistent(f) && flow.to === names[i]));
  if (receivers.length < 2 || receivers.some((i) => !goodput[i])) return null;
  const [air, bits] = [receivers.map((i) => airTo[i]!), receivers.map((i) => goodput[i]!)];
  const each = air.map((time, i) => time / bits[i]!);
  const [slow, fast] = [first(air, Math.max), first(each, Math.min)];
  if (each[slow]! <= 2 * each[fast]! || air[slow]! <= 2 * air[fast]!) return null;
  const queue = (r.checked.tree.ap as { [key: string]: Tree } | undefined)?.queue as { [key: string]: Tree } | undefined;
  const byAir = queue?.discipline === "airtime"; // with a short queue
  const why = byAir ? "" : " The access point shares out packets, not air time: the slow one takes time from all.";
  return {
    topic: "slow receiver",
    text: `Frames to ${names[receivers[slow]!]!} take ${percent(air[slow]! / sum(air))} of the air time of downloads, and bring ${percent(bits[slow]! / sum(bits))} of their goodput: a bit to it takes ${plain(each[slow]! / each[fast]!)} times the air time of one to ${names[receivers[fast]!]!}.${why}`,
    advice: ["ap.queue.discipline=airtime"],
  };
}

function air(r: Records): Found {
  const [idle, collided, data] = [r.cell("air_idle"), r.cell("air_collision"), r.cell("air_data")];
  if (Number.isNaN(idle) || Number.isNaN(collided)) return null;
  const spoilt = r.cell("air_error") || 0;
  let text = `Data takes ${percent(data)} of the time on the air, collisions ${percent(collided)}, frames with errors ${percent(spoilt)}; ${percent(idle)} is idle`;
  if (idle > 0.3) text += ": gaps and backoffs between frames, and time in which nobody has anything to send";
  else if (collided + spoilt > 0.15) {
    const cause = collided >= spoilt ? "Fewer stations that contend at a time, or RTS/CTS," : "Lower rates";
    text += `. ${cause} would waste less`;
  }
  return { topic: "air", text: `${text}.` };
}
