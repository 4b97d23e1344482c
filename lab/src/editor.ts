// The editor of the scenario's text, with line numbers and marks at errors.

import type { Problem } from "./run";
import { byId, el } from "./dom";

export class Editor {
  private readonly area = byId<HTMLTextAreaElement>("toml");
  private readonly gutter = byId("gutter");
  private readonly messages = byId("problems");
  private marked = new Set<number>();
  private numbered = "";
  private shown = "";
  /** Last scroll position; kept because asking the browser for it makes it lay out the page. */
  private scrolled = 0;

  constructor(changed: () => void) {
    this.area.addEventListener("input", () => {
      this.shown = this.area.value;
      this.number();
      changed();
    });
    this.area.addEventListener("scroll", () => void (this.gutter.scrollTop = this.scrolled = this.area.scrollTop));
    this.area.addEventListener("keydown", (event) => event.stopPropagation());
  }

  get text(): string {
    return this.area.value;
  }

  set text(text: string) {
    if (text === this.shown) return;
    this.shown = this.area.value = text;
    if (this.scrolled > 0) this.area.scrollTop = this.scrolled;
    this.number();
  }

  /** Shows the problems as the command line prints them, or nothing if there are none. */
  complain(problems: Problem[], text: string): void {
    if (text === "" && this.messages.hidden) return;
    this.marked = new Set(problems.flatMap((problem) => (problem.line ? [problem.line] : [])));
    this.number();
    this.messages.replaceChildren();
    this.messages.hidden = text === "";
    if (text === "") return;
    this.messages.append(el("pre", {}, text.trimEnd()));
    const first = problems.find((problem) => problem.line);
    if (first) {
      this.messages.append(
        el(
          "button",
          { type: "button", onclick: () => this.go(first.line!, first.column ?? 1, first.width ?? 1) },
          "Go to the line",
        ),
      );
    }
  }

  private go(line: number, column: number, width: number): void {
    const lines = this.area.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0) + column - 1;
    byId<HTMLDetailsElement>("text-panel").open = true;
    this.area.focus();
    this.area.setSelectionRange(start, start + width);
  }

  private number(): void {
    const count = this.shown.split("\n").length;
    const marks = `${count} ${[...this.marked].join()}`;
    if (marks === this.numbered) return;
    this.numbered = marks;
    if (this.gutter.childElementCount !== count) {
      this.gutter.replaceChildren(...Array.from({ length: count }, (_, i) => el("span", {}, String(i + 1))));
    }
    [...this.gutter.children].forEach((one, i) => one.classList.toggle("wrong", this.marked.has(i + 1)));
    this.gutter.scrollTop = this.scrolled;
  }
}
