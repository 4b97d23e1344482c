// What the parts of the page know of each other.

import type { Air } from "./air";
import type { Tree } from "./form";
import type { Lesson } from "./lessons";
import type { Bars, LinePlot } from "./plots";
import type { Curves, Result, Spec } from "./run";

/** A checked scenario: a description, and its keys with all defaults. */
export interface Checked {
  name: string;
  duration_s: number;
  warm_up_s: number;
  standard: string | null;
  seeds: string[];
  nodes: string[];
  flows: { name: string; from: string; to: string; group: number }[];
  resolved: string;
  tree: { [key: string]: Tree };
}

/** A run that later runs are compared with. */
export interface Pinned {
  spec: Spec;
  result: Result;
  lines: Curves;
  warmUp_s: number;
}

/** The page: what it shows, and the parts that show it. */
export interface Page {
  readonly name: string;
  readonly text: string;
  readonly seed: string;
  readonly lesson: Lesson | null;
  readonly checked: Checked | null;
  readonly result: Result | null;
  readonly lines: Curves | null;
  /** Whether the page comes from `wifair lab`, and not from static files. */
  readonly isServedHere: boolean;
  readonly air: Air;
  readonly player: { readonly now_s: number; go(time_s: number): void };
  readonly pictures: {
    readonly bars: Bars;
    readonly lines: { goodput: LinePlot; fairness: LinePlot; queue: LinePlot; cwnd: LinePlot; rtt: LinePlot };
    show(): void;
    atTime(now_s: number): void;
  };
  readonly comparison: { readonly pinned: Pinned | null; toggle(): void };
  spec(text?: string, seed?: string): Spec;
  clockText(seconds: number): string;
  notice(text: string): void;
  report(why: unknown): void;
  stop(): void;
}
