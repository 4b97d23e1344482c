// Colours that colour-blind people can tell apart: M. Okabe and K. Ito, "Color universal design", 2008. Yellow and
// black are replaced, because they are hardly visible on one of the two backgrounds. Flows of the same colour differ in
// their dashes.

const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#5F5F5F"];
const DARK = ["#4FA3DD", "#FF7F2A", "#1FC79A", "#E39CC6", "#F2B632", "#86CDF7", "#B79BD9", "#B5B5B5"];
const DASHES: number[][] = [[], [7, 4], [2, 3], [10, 3, 2, 3]];

let dark: boolean | undefined;

export function isDark(): boolean {
  const chosen = document.documentElement.dataset.theme;
  return (dark ??= chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches);
}

export const colour = (index: number): string => (isDark() ? DARK : LIGHT)[index % LIGHT.length]!;

export const dashes = (index: number): number[] => DASHES[Math.floor(index / LIGHT.length) % DASHES.length]!;

/** Colours of frames by contents, and of the text on them, as in the pictures of `wifair run --air`. */
export const KINDS: Record<string, { colour: string; ink: string; label: string }> = {
  data: { colour: "#0072B2", ink: "#fff", label: "TCP data" },
  ack: { colour: "#56B4E9", ink: "#000", label: "TCP ACK" },
  other: { colour: "#CC79A7", ink: "#000", label: "UDP, other" },
  mac_ack: { colour: "#009E73", ink: "#fff", label: "ACK" },
  rts: { colour: "#E69F00", ink: "#000", label: "RTS" },
  cts: { colour: "#F0E442", ink: "#000", label: "CTS" },
};

export const KIND_NAMES = Object.keys(KINDS);

const known = new Map<string, string>();

/** A variable of the style sheet, cached because each query makes the browser compute styles. */
export function css(name: string): string {
  let value = known.get(name);
  if (value === undefined)
    known.set(name, (value = getComputedStyle(document.documentElement).getPropertyValue(name).trim()));
  return value;
}

/** Clears the cache, after a change between light and dark. */
export function forgetStyles(): void {
  known.clear();
  dark = undefined;
}
