// Creates elements in one expression, and formats numbers.

type Attributes = Record<string, string | number | boolean | ((event: never) => void) | undefined>;

/** Creates an element with attributes, `on...` listeners, and children. */
export function el<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string | null | undefined)[]
): HTMLElementTagNameMap[K] {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name.slice(2), value as EventListener);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== undefined && value !== false) node.setAttribute(name, String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

/** Sets the text of a node if it differs, because each write makes the browser lay out the page again. */
export function write(node: Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}

/** Sets the style attribute of an element if it differs. */
export function restyle(node: HTMLElement, style: string): void {
  if (node.getAttribute("style") !== style) node.setAttribute("style", style);
}

export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

/** Formats a number, with three significant digits by default. */
export function figure(value: number, digits = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 10 ** digits || Number.isInteger(value))
    return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
  return String(Number(value.toPrecision(digits)));
}

export function rate(bps: number): string {
  if (!Number.isFinite(bps)) return "–";
  for (const [scale, unit] of [
    [1e9, "Gb/s"],
    [1e6, "Mb/s"],
    [1e3, "kb/s"],
  ] as const) {
    if (Math.abs(bps) >= scale) return `${(bps / scale).toPrecision(3)} ${unit}`;
  }
  return `${figure(bps)} b/s`;
}

/** Formats a time with the digits that `resolution_s` needs. */
export function clock(seconds: number, resolution_s = 0.01): string {
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(resolution_s))));
  return `${seconds.toFixed(digits)} s`;
}

export function span(seconds: number): string {
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size >= 1) return `${figure(seconds)} s`;
  if (size >= 1e-3) return `${figure(seconds * 1e3)} ms`;
  return `${figure(seconds * 1e6)} us`;
}

/** Debounces `call`: the returned function calls it `wait_ms` after its own last call. */
export function later(wait_ms: number, call: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, wait_ms);
  };
}
