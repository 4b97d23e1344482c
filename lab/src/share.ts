// Links that contain the whole state, texts to copy, and the files to save.

import { deflateSync, inflateSync, strFromU8, strToU8 } from "fflate";
import { commandLine, fileName, python } from "./copied";
import { byId, el } from "./dom";
import { EngineError } from "./engine";
import type { Page } from "./page";
import { csv, downloadText, perfetto, pictures, png } from "./save";

/** The contents of a link. */
export interface Shared {
  text: string;
  name?: string;
  seed?: string;
  lesson?: string;
  pinned?: { text: string; seed: string };
  width_s?: number;
  now_s?: number;
}

const LONGEST_TEXT = 4_000_000;

export function encode(shared: Shared): string {
  const bytes = deflateSync(strToU8(JSON.stringify(shared)), { level: 9 });
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
}

/** Decodes a link; throws if it is damaged. */
export function decodeLink(code: string): Shared {
  const binary = atob(code.replace(/-/g, "+").replace(/_/g, "/"));
  const packed = Uint8Array.from(binary, (one) => one.charCodeAt(0));
  // A short link could unpack to a huge text, so unpacking stops at the size limit of a scenario.
  const bytes = inflateSync(packed, { out: new Uint8Array(LONGEST_TEXT + 100_000) });
  const shared = JSON.parse(strFromU8(bytes)) as Shared;
  const { text, name = "", seed = "", lesson = "", pinned = { text: "", seed: "" }, width_s = 1, now_s = 0 } = shared;
  const areTexts = [text, name, seed, lesson, pinned.text, pinned.seed].every((one) => typeof one === "string");
  if (!areTexts || ![width_s, now_s].every(Number.isFinite)) throw new Error("no state");
  return shared;
}

/** The state in the fragment of the page's address, or null; throws if it is damaged. */
export async function readFragment(): Promise<Shared | null> {
  const code = /^#s=(.+)$/.exec(location.hash)?.[1];
  if (!code) return null;
  try {
    return decodeLink(code);
  } catch {
    throw new EngineError(
      "The link is damaged or incomplete, and cannot be read. Ask for it again, or start with a lesson.",
    );
  }
}

function state(lab: Page): Shared {
  const pinned = lab.comparison.pinned?.spec;
  return {
    text: lab.text,
    name: lab.name,
    seed: lab.seed,
    ...(lab.lesson ? { lesson: lab.lesson.id } : {}),
    ...(pinned ? { pinned: { text: pinned.text, seed: pinned.seed } } : {}),
    width_s: lab.air.width_s,
    ...(lab.player.now_s < (lab.result?.end_s ?? 0) ? { now_s: lab.player.now_s } : {}),
  };
}

const nameOf = (lab: Page): string => lab.checked?.name ?? "";

const TEXTS: [string, string, (lab: Page) => string][] = [
  [
    "Copy link",
    "The whole state; `wifair lab 'LINK'` opens it on any machine",
    (lab) => {
      const link = `#s=${encode(state(lab))}`;
      history.replaceState(null, "", link);
      // Port and token of a server on this machine end with it, and nobody else could reach them.
      return lab.isServedHere ? link : location.href;
    },
  ],
  ["Copy TOML", "The scenario", (lab) => lab.text],
  ["Copy command line", "For a shell", (lab) => commandLine(lab.text, nameOf(lab), lab.seed)],
  ["Copy Python", "For a script or a notebook", (lab) => python(lab.text, lab.seed)],
];

export function shareMenu(lab: Page): void {
  const said = el("output", { "aria-live": "polite" });
  byId("share").append(
    ...TEXTS.map(([title, about, make]) =>
      el(
        "button",
        {
          type: "button",
          title: about,
          onclick: async () => {
            const text = make(lab);
            try {
              await navigator.clipboard.writeText(text);
              said.textContent = "copied";
            } catch {
              // If the page may not write to the clipboard, show the text to be copied by hand.
              said.replaceChildren(el("textarea", { rows: 4, cols: 24, readonly: true, "aria-label": title }, text));
              said.querySelector("textarea")!.select();
            }
          },
        },
        title,
      ),
    ),
    said,
  );
}

export function saveMenu(lab: Page): void {
  const name = (): string => fileName(nameOf(lab));
  const items: [string, string, () => void | Promise<void>][] = [
    ["PNG", "The plots as a picture", () => png(lab, `${name()}.png`)],
    ["SVG", "The plots as vectors", () => downloadText(`${name()}.svg`, pictures(lab), "image/svg+xml")],
    [
      "CSV of the curves",
      "One row for each sample and flow",
      () => downloadText(`${name()}-series.csv`, csv(lab, "series"), "text/csv"),
    ],
    [
      "CSV of the flows",
      "One row for each flow",
      () => downloadText(`${name()}-flows.csv`, csv(lab, "flows"), "text/csv"),
    ],
    [
      "Trace for Perfetto",
      "Recorded frames, congestion windows and queues, for ui.perfetto.dev",
      () => downloadText(`${name()}-trace.json`, perfetto(lab), "application/json"),
    ],
    ["TOML", "The scenario", () => downloadText(`${name()}.toml`, lab.text, "text/plain")],
  ];
  byId("save").append(
    ...items.map(([title, about, save]) =>
      el(
        "button",
        { type: "button", title: about, onclick: () => void Promise.resolve(save()).catch((why) => lab.report(why)) },
        title,
      ),
    ),
  );
}
