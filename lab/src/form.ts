// Controls for a scenario, made from its JSON Schema.

import { el } from "./dom";

export interface Schema {
  type?: string;
  description?: string;
  pattern?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  items?: Schema;
  oneOf?: { const?: string; pattern?: string; description?: string }[];
  anyOf?: Schema[];
}

export type Tree = string | number | boolean | Tree[] | { [key: string]: Tree };

/** Sets the key at `path` to a TOML value, or removes it if the value is null. */
export type Change = (path: string, value: string | null) => void;

/** The keys shown first, in this order; `*` stands for each element of a list. */
const MAIN = [
  "stations.*.count",
  "flows.*.direction",
  "flows.*.count",
  "flows.*.workload",
  "flows.*.tcp.cc",
  "flows.*.tcp.receive_window",
  "ap.queue.discipline",
  "ap.queue.limit",
  "ap.scheme.window",
  "wlan.standard",
  "wlan.data_rate",
  "wlan.mcs",
  "wlan.width",
  "wlan.streams",
  "stations.*.data_rate",
  "wlan.rts_threshold",
  "wlan.data_error",
  "stations.*.data_error_up",
  "stations.*.data_error_down",
  "servers.*.delay",
  "servers.*.rate",
  "duration",
  "warm_up",
];

/** Rates of non-HT data frames, the stops of the sliders [Mb/s]: IEEE 802.11-2020, clauses 16, 17 and 18. */
const RATES: Record<string, number[]> = {
  "802.11b": [1, 2, 5.5, 11],
  "802.11a": [6, 9, 12, 18, 24, 36, 48, 54],
  "802.11g": [6, 9, 12, 18, 24, 36, 48, 54],
};

const quoted = (text: string): string => JSON.stringify(text);

/** The number and the unit of a quantity. */
export function quantity(text: string): [number, string] | null {
  const found = /^([-+]?[0-9.]+(?:e[-+]?[0-9]+)?) ?([^0-9 ].*)$/i.exec(text);
  return found && Number.isFinite(Number(found[1])) ? [Number(found[1]), found[2]!] : null;
}

interface Slider {
  /** Positions from 0 to `steps`. */
  steps: number;
  value: (position: number) => number;
  position: (value: number) => number;
}

const clamp = (x: number, low: number, high: number): number => Math.min(high, Math.max(low, x));

function linear(low: number, high: number, steps: number): Slider {
  return {
    steps,
    value: (p) => Number((low + ((high - low) * p) / steps).toPrecision(3)),
    position: (v) => clamp(Math.round(((v - low) / (high - low)) * steps), 0, steps),
  };
}

/** A slider with equal ratios between its positions, values of two digits, and optionally 0 at the left end. */
function logarithmic(low: number, high: number, whole: boolean, zero: boolean): Slider {
  const steps = 120;
  const ratio = Math.log(high / low);
  const round = (x: number): number => (whole ? Math.round(Number(x.toPrecision(2))) : Number(x.toPrecision(2)));
  return {
    steps,
    value: (p) => (zero && p === 0 ? 0 : round(low * Math.exp((ratio * p) / steps))),
    position: (v) => (v <= 0 ? 0 : clamp(Math.round((Math.log(v / low) / ratio) * steps), zero ? 1 : 0, steps)),
  };
}

function chosen(values: number[]): Slider {
  return {
    steps: values.length - 1,
    value: (p) => values[p]!,
    position: (v) => values.reduce((best, one, i) => (Math.abs(one - v) < Math.abs(values[best]! - v) ? i : best), 0),
  };
}

/** The bounds of a key, from the words of its description, such as `from 1 to 100` or `at most 1`. */
function bounds(schema: Schema): [number, number] {
  const words = /Values: ([^\n]*)/.exec(schema.description ?? "")?.[1] ?? "";
  const both = /from ([\d.]+)\S* to ([\d.]+)/.exec(words);
  if (both) return [Number(both[1]), Number(both[2])];
  const most = /at most ([\d.]+)/.exec(words);
  const least = /([\d.]+) or more/.exec(words);
  return [least ? Number(least[1]) : (schema.minimum ?? 0), most ? Number(most[1]) : (schema.maximum ?? Infinity)];
}

function sliderFor(path: string, schema: Schema, value: number, unit: string, standard: string): Slider | null {
  const [low, high] = bounds(schema);
  const key = path.slice(path.lastIndexOf(".") + 1);
  if (unit === "Mb/s" && RATES[standard] && /^(stations\[\d+\]|wlan)\./.test(path)) return chosen(RATES[standard]!);
  if (schema.type === "number" && low === 0 && high === 1) return linear(0, key.includes("error") ? 0.3 : 1, 120);
  if (schema.type === "integer") {
    const top = Math.min(high, Math.max(40, 4 * value));
    return top - low <= 200 ? linear(low, top, top - low) : logarithmic(Math.max(low, 1), top, true, low === 0);
  }
  if (schema.type === "number") return value > 0 ? logarithmic(value / 20, value * 20, false, false) : null;
  if (unit === "packets") return logarithmic(1, Math.max(1000, value), true, false);
  if (["ms", "us", "ns"].includes(unit) || (unit === "s" && value === 0)) {
    const scale = unit === "s" ? 0.5 : unit === "ms" ? 500 : 1000;
    return logarithmic(scale / 500, Math.max(scale, 4 * value), false, true);
  }
  if (["dBm", "dB", "dBi", "m"].includes(unit)) return linear(value - 30, value + 30, 120);
  return value > 0 ? logarithmic(value / 30, value * 30, unit === "B", false) : null;
}

/** A control, and the function that shows a value in it. */
interface Control {
  node: HTMLElement;
  show: (value: Tree | undefined, standard: string) => void;
}

function say(schema: Schema): string {
  return (schema.description ?? "").replace(/\s+/g, " ").trim();
}

/** Creates the control of one key. */
export function control(path: string, schema: Schema, change: Change, id: string): Control {
  const label = path.replace(/\[(\d+)\]/g, "[$1]");
  const hint = say(schema);
  const common = { id, title: hint };
  if (schema.oneOf) {
    const input = el("select", {
      ...common,
      onchange: () => change(path, input.value === "" ? null : quoted(input.value)),
    });
    let made = "";
    return {
      node: input,
      show: (value) => {
        const shown = value === undefined ? "" : String(value);
        if (made === `=${shown}` && input.value === shown) return;
        made = `=${shown}`;
        const names = schema.oneOf!.flatMap((one) => (one.const === undefined ? [] : [one.const]));
        if (typeof value === "string" && !names.includes(value)) names.push(value);
        input.replaceChildren(
          ...(value === undefined ? [el("option", { value: "" }, "not set")] : []),
          ...names.map((name) => {
            const about = schema.oneOf!.find((one) => one.const === name)?.description;
            return el("option", { value: name, title: about }, name);
          }),
        );
        input.value = shown;
      },
    };
  }
  if (schema.type === "boolean") {
    const input = el("input", { ...common, type: "checkbox", onchange: () => change(path, String(input.checked)) });
    return { node: input, show: (value) => void (input.checked = value === true) };
  }
  // A number, a quantity, or a text gets a field, and a slider if it contains a number.
  let unit = "";
  let slider: Slider | null = null;
  let isText = schema.type !== "integer" && schema.type !== "number";
  const written = (text: string): string => {
    if (!isText) return text.trim() || "0";
    if (schema.type === "array" || (schema.anyOf && /^(\[|\d+$)/.test(text.trim()))) return text.trim();
    return quoted(text);
  };
  const field = el("input", {
    ...common,
    type: "text",
    spellcheck: false,
    autocomplete: "off",
    onchange: () => change(path, field.value.trim() === "" ? null : written(field.value)),
  });
  const range = el("input", {
    type: "range",
    min: 0,
    "aria-label": label,
    title: hint,
    oninput: () => {
      if (!slider) return;
      const number = slider.value(Number(range.value));
      field.value = unit ? `${number} ${unit}` : String(number);
      range.setAttribute("aria-valuetext", field.value);
      change(path, unit ? quoted(field.value) : field.value);
    },
  });
  const node = el("span", { class: "field" }, range, field);
  let made = "";
  let shown: string | undefined;
  return {
    node,
    show: (value, standard) => {
      const text = value === undefined ? "" : Array.isArray(value) ? JSON.stringify(value) : String(value);
      if (shown === `${text}\n${standard}` && field.value === text) return;
      shown = `${text}\n${standard}`;
      if (document.activeElement !== field) field.value = text;
      const parts = typeof value === "number" ? ([value, ""] as const) : quantity(text);
      const known = parts && !(isText && parts[1] === "");
      if (parts && known && document.activeElement !== range) {
        // A slider keeps its range while the value stays within it.
        const key = `${parts[1]} ${standard}`;
        if (!slider || made !== key || Math.abs(slider.value(slider.position(parts[0])) - parts[0]) > 0.3 * parts[0]) {
          unit = parts[1];
          made = key;
          slider = sliderFor(path, schema, parts[0], unit, standard);
          if (slider) range.max = String(slider.steps);
        }
        if (slider) range.value = String(slider.position(parts[0]));
        range.setAttribute("aria-valuetext", text);
      }
      if (!known) slider = null;
      range.hidden = !slider;
      field.placeholder = value === undefined ? "not set" : "";
    },
  };
}

function valueAt(tree: Tree | undefined, path: string): Tree | undefined {
  let here = tree;
  for (const step of path.split(/[.[\]]+/).filter(Boolean)) {
    if (here === undefined || typeof here !== "object") return undefined;
    here = Array.isArray(here) ? here[Number(step)] : here[step];
  }
  return here;
}

function schemaAt(schema: Schema, path: string): Schema | undefined {
  let here: Schema | undefined = schema;
  for (const step of path.split(/[.[\]]+/).filter(Boolean)) {
    here = here?.type === "array" ? here.items : here?.properties?.[step];
  }
  return here;
}

/** The controls of the page. */
export class Form {
  private shown = new Map<string, Control>();
  private tree: Tree | undefined;
  private standard = "";
  private layout = "";
  private count = 0;

  constructor(
    private readonly main: HTMLElement,
    private readonly all: HTMLElement,
    private readonly schema: Schema,
    private readonly change: Change,
  ) {}

  /** Shows the values of a scenario with all defaults. */
  show(tree: { [key: string]: Tree }, standard: string): void {
    this.tree = tree;
    this.standard = standard;
    const paths = MAIN.flatMap((pattern) => this.expand(pattern)).filter((path) => this.isUseful(path));
    const layout = JSON.stringify([
      paths.map((path) => [path, this.title(path)]),
      Object.entries(tree).map(([k, v]) => [k, Array.isArray(v) ? v.length : 0]),
    ]);
    if (layout !== this.layout) {
      this.layout = layout;
      for (const key of this.shown.keys()) if (!key.startsWith("lesson ")) this.shown.delete(key);
      this.main.replaceChildren(...paths.map((path) => this.row(path, this.title(path))));
      const open = new Set([...this.all.querySelectorAll("details[open]")].map((one) => one.getAttribute("data-path")));
      this.all.replaceChildren(...this.groups("", this.schema));
      for (const one of this.all.querySelectorAll<HTMLDetailsElement>("details")) {
        if (open.has(one.getAttribute("data-path"))) one.open = true;
      }
    }
    for (const [key, control] of this.shown) {
      control.show(valueAt(tree, key.replace(/^(main|all|lesson) /, "")), standard);
    }
  }

  /** Creates a separate control for a lesson's key. */
  single(path: string): HTMLElement | null {
    if (!schemaAt(this.schema, path) || valueAt(this.tree, path.replace(/\.[^.]*$/, "")) === undefined) return null;
    for (const key of this.shown.keys()) if (key.startsWith("lesson ")) this.shown.delete(key);
    return this.row(path, this.title(path), "lesson");
  }

  private expand(pattern: string): string[] {
    const [list, rest] = pattern.split(".*.");
    if (rest === undefined) return [pattern];
    const elements = valueAt(this.tree, list!);
    return Array.isArray(elements) ? elements.map((_, i) => `${list}[${i}].${rest}`) : [];
  }

  /**
   * Whether the main controls include a key: those without a value are only under "All keys", and absent tables
   * nowhere.
   */
  private isUseful(path: string): boolean {
    const schema = schemaAt(this.schema, path);
    if (!schema || schema.type === "object") return false;
    const hasMcs = /^802\.11(n|ac|ax|be)$/.test(this.standard);
    if (["wlan.mcs", "wlan.width", "wlan.streams"].includes(path)) return hasMcs;
    if (path === "wlan.data_rate" && hasMcs) return false;
    if (valueAt(this.tree, path) !== undefined) return true;
    return path.startsWith("ap.scheme") && valueAt(this.tree, "ap") !== undefined;
  }

  private title(path: string): string {
    const list = /^(\w+)\[(\d+)\]\.(.*)$/.exec(path);
    if (!list) return path;
    const elements = valueAt(this.tree, list[1]!) as Tree[];
    const name = valueAt(elements[Number(list[2])], "name");
    return `${elements.length > 1 ? `${list[1]!.replace(/s$/, "")} “${String(name)}”:` : list[1]} ${list[3]}`;
  }

  private row(path: string, title: string, kind = "main"): HTMLElement {
    const schema = schemaAt(this.schema, path)!;
    const id = `control-${++this.count}`;
    const made = control(path, schema, this.change, id);
    this.shown.set(`${kind} ${path}`, made);
    made.show(valueAt(this.tree, path), this.standard);
    return el(
      "div",
      { class: "row", "data-path": path },
      // Words instead of keys; names in quotation marks stay as they are.
      el("label", { for: id, title: say(schema) }, title.replace(/[_.](?![^“]*”)/g, " ")),
      made.node,
    );
  }

  /** Creates the controls of all keys, as nested tables. The controls of a table are created when it is opened. */
  private groups(path: string, schema: Schema): HTMLElement[] {
    const rows: HTMLElement[] = [];
    const tables: HTMLElement[] = [];
    for (const [key, inner] of Object.entries(schema.properties ?? {})) {
      const here = path ? `${path}.${key}` : key;
      if (inner.type === "object") tables.push(this.group(here, key, inner));
      else if (inner.type === "array" && inner.items?.type === "object") {
        const elements = valueAt(this.tree, here);
        (Array.isArray(elements) ? elements : []).forEach((one, i) => {
          const name = valueAt(one, "name");
          tables.push(
            this.group(
              `${here}[${i}]`,
              name === undefined ? `${key} [${i}]` : `${key} “${String(name)}”`,
              inner.items!,
            ),
          );
        });
      } else rows.push(this.row(here, key, "all"));
    }
    return [...rows, ...tables];
  }

  private group(path: string, title: string, schema: Schema): HTMLElement {
    const body = el("div", { class: "keys" });
    const details = el(
      "details",
      {
        "data-path": path,
        ontoggle: () => {
          if (details.open && !body.firstChild) body.append(...this.groups(path, schema));
        },
      },
      el("summary", { title: say(schema) }, title),
      body,
    );
    return details;
  }
}
