// Describes losses and timeouts in words.

import type { Table } from "./engine";

const PLACES: [string, string][] = [
  ["ap_queue", "the access point's queue"],
  ["station_queue", "a station's queue"],
  ["link_queue", "the queue of a wired link"],
  ["retry_limit", "the MAC, at its retry limit"],
  ["ap_scheme", "a scheme of the access point"],
  ["no_route", "a node without a route"],
  ["lifetime", "the MAC, as their lifetime was over"],
  ["late", "a receiver that had stopped waiting for them"],
];

export function happened(table: Table, row: number, what: string): boolean {
  if (what === "timeout") return table.numbers("timeouts")[row]! > 0;
  return PLACES.some(([place]) => table.numbers(`data_${place}`)[row]! > 0 || table.numbers(`ack_${place}`)[row]! > 0);
}

/** Describes the losses and timeouts of some rows together; they explain why a window shrinks. */
export function describeLosses(table: Table, rows: number[]): string {
  const number = (name: string): number => rows.reduce((sum, row) => sum + (table.numbers(name)[row] ?? 0), 0);
  const some = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
  const parts: string[] = [];
  if (number("timeouts")) parts.push(`${some(number("timeouts"), "timeout")}: the window shrinks to one segment`);
  if (number("retransmissions")) parts.push(`${some(number("retransmissions"), "segment")} retransmitted`);
  for (const [place, where] of PLACES) {
    if (number(`data_${place}`)) parts.push(`${some(number(`data_${place}`), "data packet")} dropped by ${where}`);
    if (number(`ack_${place}`)) parts.push(`${some(number(`ack_${place}`), "ACK")} dropped by ${where}`);
  }
  return parts.join(", ");
}
