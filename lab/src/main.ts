// The page: its state, and the reactions to changes.

import { Air } from "./air";
import { Comparison } from "./compare";
import { byId, clock, el, figure, later, rate, write } from "./dom";
import { Editor } from "./editor";
import { ask, type Engine, EngineError, open } from "./engine";
import { Form, type Tree } from "./form";
import { Helps } from "./helps";
import { LESSONS, type Lesson } from "./lessons";
import type { Checked, Page } from "./page";
import { Pictures } from "./pictures";
import { Player } from "./player";
import {
  begin,
  cell,
  complain,
  Curves,
  type Edit,
  type Finding,
  goOn,
  type Problem,
  type Result,
  ScenarioError,
  type Spec,
} from "./run";
import { isDark } from "./style-data";
import { readFragment, saveMenu, type Shared, shareMenu } from "./share";

interface Start {
  engine: "http" | "wasm";
  version: string;
  text: string | null;
  name: string;
  lesson: string | null;
}

class Lab implements Page {
  readonly start: Start;
  readonly engine: Engine;
  private readonly editor: Editor;
  private form!: Form;
  readonly air: Air;
  readonly player: Player;
  readonly pictures: Pictures;
  readonly comparison: Comparison;
  private readonly helps: Helps;
  name: string;
  text = "";
  seed = "1";
  lesson: Lesson | null = null;
  checked: Checked | null = null;
  result: Result | null = null;
  lines: Curves | null = null;
  /** Counts changes; results of an older generation are discarded. */
  private generation = 0;
  private running = false;
  /** Whether words about the result are still to come. */
  private silent = false;
  private said = "";
  /** Declines the long run that the page asks about. */
  private leave: (() => void) | null = null;
  private again = false;
  /** Changes by controls that are not in the text yet. */
  private edits: Edit[] = [];
  /** Whether the editor does not show the changes of the text by controls yet. */
  private isEditorBehind = false;

  constructor() {
    this.start = JSON.parse(byId("start").textContent || '{"engine":"http"}') as Start;
    this.name = this.start.name || "scenario.toml";
    const kind = this.start.engine;
    this.engine = open(kind, "main");
    this.air = new Air(
      open(kind, "air"),
      (time) => this.player.go(time),
      (why) => this.report(why),
    );
    this.pictures = new Pictures(this);
    this.comparison = new Comparison(this, open(kind, "seeds"));
    this.helps = new Helps(open(kind, "helps"), () => ({ text: this.text, name: this.name }));
    this.player = new Player(this);
    this.editor = new Editor(later(200, () => void this.write(this.editor.text)));
  }

  async open(): Promise<void> {
    const { head } = await ask(this.engine, { ask: "describe" });
    this.form = new Form(byId("main-controls"), byId("all-controls"), head.schema, (path, value) =>
      this.change(path, value),
    );
    this.listen();
    let broken: unknown;
    const shared = await readFragment().catch((why) => {
      broken = why;
      return null;
    });
    const asked = LESSONS.find(
      (one) => one.id === (this.start.lesson ?? new URLSearchParams(location.search).get("lesson")),
    );
    if (shared) await this.restore(shared);
    else if (asked) await this.tell(asked);
    else if (this.start.text !== null) await this.write(this.start.text);
    else await this.tell(LESSONS[0]!);
    if (broken) this.report(broken);
    document.documentElement.dataset.ready = "true";
  }

  /** Replaces the text. */
  async write(text: string): Promise<void> {
    this.edits = [];
    this.text = text;
    this.isEditorBehind = false;
    this.editor.text = text;
    await this.update();
  }

  async restore(shared: Shared): Promise<void> {
    this.seed = byId<HTMLInputElement>("seed").value = /^\d{1,20}$/.test(shared.seed ?? "") ? shared.seed! : "1";
    this.name = shared.name ?? this.name;
    const lesson = LESSONS.find((one) => one.id === shared.lesson);
    if (lesson) this.showLesson(lesson);
    await this.write(shared.text);
    if (shared.pinned) await this.comparison.pinText(shared.pinned.text, shared.pinned.seed);
    if (shared.width_s) this.air.look(this.air.now_s, shared.width_s);
    if (shared.now_s !== undefined) this.player.go(shared.now_s);
  }

  async tell(lesson: Lesson): Promise<void> {
    this.comparison.clear();
    this.showLesson(lesson);
    this.name = `${lesson.id}.toml`;
    this.seed = byId<HTMLInputElement>("seed").value = "1";
    this.pictures.reset();
    await this.write(lesson.text);
    this.showLesson(lesson); // again: its slider needs a checked scenario
    if (lesson.window_s) this.air.look(this.air.now_s, lesson.window_s);
  }

  private showLesson(lesson: Lesson): void {
    this.lesson = lesson;
    byId<HTMLSelectElement>("lesson").value = lesson.id;
    const slider = this.form.single(lesson.slider);
    byId("story").replaceChildren(
      el("h2", {}, lesson.title),
      ...lesson.sentences.map((one) => el("p", {}, one)),
      el("p", {}, el("b", {}, "Move: "), lesson.move),
      ...(slider ? [slider] : []),
    );
    byId("story").hidden = false;
  }

  /** Handles a change by a control; of consecutive changes of one key only the last is applied. */
  change(path: string, value: string | null): void {
    if (this.edits.at(-1)?.path === path) this.edits.pop();
    this.edits.push({ path, value });
    void this.update();
  }

  /** Whether the page is waiting for results. */
  get busy(): boolean {
    return this.running || this.silent || this.air.busy;
  }

  /** Checks the text, shows its values, and runs it. During a run, the newest text waits. */
  async update(): Promise<void> {
    this.helps.forget();
    this.generation++;
    this.leave?.();
    this.again = true;
    if (this.running) return;
    this.running = true;
    try {
      while (this.again) {
        this.again = false;
        await this.run(this.generation).catch((why) => this.report(why));
      }
    } finally {
      this.running = false;
    }
  }

  spec(text = this.text, seed = this.seed): Spec {
    return { text, name: this.name, seed, duration_s: this.checked?.duration_s ?? 1 };
  }

  private async run(generation: number): Promise<void> {
    const { name, seed } = this;
    const outdated = (): boolean => generation !== this.generation;
    while (this.edits.length > 1) {
      const { head } = await ask(this.engine, { ask: "edit", text: this.text, ...this.edits.shift()! });
      complain(head);
      this.text = head.text;
      this.isEditorBehind = true;
    }
    const { text } = this;
    const edit = this.edits.pop() ?? null;
    const first = await begin(this.engine, text, name, seed, edit);
    if (this.text !== text) return; // the text was replaced in the meantime
    this.text = first.edited;
    if (edit) this.isEditorBehind = true;
    if (outdated() && this.edits.length === 0 && seed === this.seed) return;
    const { checked, result } = first.begun();
    this.checked = checked as Checked;
    const was = this.result?.end_s;
    const wasAtEnd = was === undefined || this.player.now_s >= was || this.player.now_s > result.end_s;
    const { spec } = result;
    // Show the first piece of a run even if a slider has moved on, so that the plots follow the slider.
    const rest =
      result.over || outdated()
        ? null
        : goOn(this.engine, spec, result, {
            outdated,
            progress: (share) => this.progress(share),
            partial: (part) => this.show(part),
            long: (seconds) => this.askAbout(seconds),
          });
    this.show(result);
    this.form.show(this.checked.tree, this.checked.standard ?? "");
    this.editor.complain([], "");
    this.notice("");
    if (wasAtEnd) this.player.go(spec.duration_s, true);
    const last = result.over ? result : await rest;
    this.progress(null);
    if (!last || outdated()) return;
    if (last !== result) this.show(last);
    this.air.show(spec, this.checked.nodes, this.player.now_s);
    this.comparison.follow();
    if (this.start.engine === "http") this.publish();
  }

  private readonly publish = later(300, () => {
    const { text, name, seed } = this;
    const state = { text, name, seed, lesson: this.lesson?.id ?? null };
    void fetch("state", {
      method: "POST",
      body: JSON.stringify(state),
      headers: { "Content-Type": "application/json" },
    }).catch(() => {});
  });

  /** Shows a result, possibly of a run still in progress. */
  private show(result: Result): void {
    const checked = this.checked!;
    this.result = result;
    this.lines = new Curves(result, checked.warm_up_s);
    byId("plots").classList.remove("old");
    byId("figures").classList.remove("old");
    this.player.range(result.end_s);
    this.pictures.show();
    this.figures(result);
    this.silent = true;
    this.tellSoon();
  }

  /** Brings the changes by controls into the editor. */
  private catchUpEditor(): void {
    if (this.isEditorBehind) this.editor.text = this.text;
    this.isEditorBehind = false;
  }

  /** Words and the text follow when a control rests: they could not be read before, and the curves come first. */
  private readonly tellSoon = later(80, () => {
    this.silent = false;
    this.catchUpEditor();
    const { result, checked } = this;
    if (!result || !checked) return;
    this.pictures.catchUp();
    write(byId("summary"), this.summary(result));
    this.say(result.facts);
  });

  private say(findings: Finding[]): void {
    const said = JSON.stringify(findings);
    if (said === this.said) return;
    this.said = said;
    byId("findings").replaceChildren(
      ...findings.flatMap((one) => [
        el("dt", {}, one.topic),
        el(
          "dd",
          {},
          one.text.replace(/(\d) (?=\S)/g, "$1\u00a0"), // a number and its unit stay in one line
          el(
            "span",
            { class: "try" },
            ...one.advice.map((advice) =>
              el(
                "button",
                { type: "button", title: `Pin this run and set ${advice}`, onclick: () => void this.tryOut(advice) },
                advice,
              ),
            ),
          ),
        ),
      ]),
    );
  }

  /** Pins the run and applies a change that may help. */
  private async tryOut(advice: string): Promise<void> {
    this.comparison.pin();
    const [named, value] = advice.split(/=(.*)/s) as [string, string];
    // By number, as the editor then changes a line and leaves the rest of the text as it is.
    const path = named.replace(/^(stations|servers)\.([^.]+)/, (all, kind: string, name: string) => {
      const at = ((this.checked!.tree[kind] ?? []) as { [key: string]: Tree }[]).findIndex((one) => one.name === name);
      return at < 0 ? all : `${kind}[${at}]`;
    });
    this.change(path, /^[\d.]+$|^(true|false)$/.test(value) ? value : JSON.stringify(value));
  }

  private summary(result: Result): string {
    const { checked } = this;
    const stations = checked!.nodes.length;
    const what = checked!.standard ? `${checked!.standard}, ${stations} on the air` : "no Wi-Fi";
    return `${checked!.name}: ${what}, ${result.flows.rows} flows, ${figure(result.end_s)} s, seed ${this.seed}${result.over ? "" : ` (${figure(result.now_s)} s so far)`}`;
  }

  private figures(result: Result): void {
    const shown: [string, string, string][] = [
      ["goodput", rate(cell(result, "goodput_bps")), "Sum of the flows' goodput"],
      ["Jain's index", figure(cell(result, "jain_index")), "Of the flows' goodput: 1 if all get the same"],
      [
        "up / down",
        figure(this.lines!.bothWays ? cell(result, "up_down_ratio") : NaN),
        "Goodput of all uplink flows over that of all downlink flows",
      ],
      ["AP queue", `${figure(cell(result, "ap_queue_mean_packets"))} packets`, "Mean length over time"],
      [
        "AP drops",
        `${figure(cell(result, "ap_drops_data"))} data, ${figure(cell(result, "ap_drops_ack"))} ACK`,
        "Packets that the access point's queue dropped",
      ],
      ["timeouts", figure(cell(result, "timeouts")), "Expiries of retransmission timers"],
      [
        "collided attempts",
        `${figure(100 * cell(result, "collision_probability"))} %`,
        "Fraction of the transmission attempts that collided; the air time of collisions is below",
      ],
      [
        "idle air",
        `${figure(100 * cell(result, "air_idle"))} %`,
        "Fraction of the time in which no frame was on the air",
      ],
    ];
    const panel = byId("figures");
    if (panel.childElementCount !== shown.length) {
      panel.replaceChildren(
        ...shown.map(([name, , about]) => el("div", { title: about }, el("span", {}, name), el("b"))),
      );
    }
    shown.forEach(([, value], i) => write(panel.children[i]!.lastElementChild!, value));
  }

  private progress(share: number | null): void {
    const bar = byId<HTMLProgressElement>("progress");
    bar.hidden = share === null || share === 0;
    byId("stop").hidden = bar.hidden;
    if (share) bar.value = share;
  }

  private askAbout(seconds: number): Promise<boolean> {
    const wait = seconds > 90 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds)} seconds`;
    return new Promise((done) => {
      const answer = (yes: boolean) => (): void => {
        this.leave = null;
        this.notice("");
        done(yes);
      };
      this.leave = answer(false);
      const node = byId("notice");
      node.replaceChildren(
        `This run will take about ${wait} more.`,
        el("button", { type: "button", onclick: answer(true) }, "Continue"),
        el("button", { type: "button", onclick: answer(false) }, "Stop"),
      );
      node.hidden = false;
    });
  }

  stop(): void {
    this.generation++;
    this.leave?.();
    this.engine.stop();
    this.air.stop();
    this.comparison.stop();
    this.player.pause();
    this.progress(null);
  }

  notice(text: string): void {
    byId("notice").textContent = text;
    byId("notice").hidden = text === "";
  }

  report(why: unknown): void {
    this.catchUpEditor();
    if ((why as Error).name === "AbortError") return;
    if (why instanceof ScenarioError) {
      this.editor.complain(why.problems as Problem[], why.message);
      byId("plots").classList.add("old");
      byId("figures").classList.add("old");
      this.progress(null);
    } else {
      this.notice(why instanceof EngineError ? why.message : `${String(why)}; this is a bug in wifair`);
      if (!(why instanceof EngineError)) console.error(why);
    }
  }

  private listen(): void {
    const lesson = byId<HTMLSelectElement>("lesson");
    lesson.append(...LESSONS.map((one, i) => el("option", { value: one.id }, `${i + 1}. ${one.title}`)));
    lesson.addEventListener("change", () => void this.tell(LESSONS.find((one) => one.id === lesson.value)!));
    const seed = byId<HTMLInputElement>("seed");
    const setSeed = (text: string): void => {
      const good = /^\d{1,20}$/.test(text) && BigInt(text) < 2n ** 64n;
      seed.setCustomValidity(good ? "" : "write a whole number from 0 to 2^64 - 1");
      seed.reportValidity();
      if (!good) return;
      this.seed = seed.value = text;
      void this.update();
    };
    seed.addEventListener("change", () => setSeed(seed.value.trim()));
    byId("next-seed").addEventListener("click", () => setSeed(String(BigInt(this.seed) + 1n)));
    byId("stop").addEventListener("click", () => this.stop());
    byId("pin").addEventListener("click", () => this.comparison.toggle());
    byId("theme").addEventListener("click", () => this.theme());
    byId("zoom-in").addEventListener("click", () => this.air.zoom(0.5));
    byId("zoom-out").addEventListener("click", () => this.air.zoom(2));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.pictures.redraw());
    shareMenu(this);
    saveMenu(this);
    for (const menu of document.querySelectorAll<HTMLDetailsElement>(".menu")) {
      document.addEventListener("click", (event) => {
        if (!menu.contains(event.target as Node)) menu.open = false;
      });
    }
    window.addEventListener("hashchange", async () => {
      const shared = await readFragment().catch((why) => void this.report(why));
      if (shared) await this.restore(shared);
    });
  }

  /** Whether the page comes from a server that ends with the command, not from files on a web server. */
  get isServedHere(): boolean {
    return this.start.engine === "http";
  }

  private theme(): void {
    const root = document.documentElement;
    root.dataset.theme = isDark() ? "light" : "dark";
    this.pictures.redraw();
  }

  clockText(time_s: number): string {
    return clock(time_s, Math.min(0.01, this.air.width_s / 100));
  }
}

const lab = new Lab();
(window as unknown as { wifairLab: Lab }).wifairLab = lab;
void lab.open().catch((why) => lab.report(why));
