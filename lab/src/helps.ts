// Tries what may help the scenario: pairs of runs with equal seeds, of which the core says what helps and what it
// costs.

import { byId, el } from "./dom";
import { ask, type Engine } from "./engine";
import { complain } from "./run";

const EVENTS = 300_000;

interface Report {
  pairs: number;
  lines: string[][];
  left_out: { change: string; why: string }[];
}

/** The button that tries, and the table below it. */
export class Helps {
  private number = 0;

  constructor(
    private readonly engine: Engine,
    private readonly text: () => { text: string; name: string },
  ) {
    byId("try").onclick = () => void this.run();
  }

  /** Forgets what was tried, because the scenario is another one. */
  forget(): void {
    this.number++;
    byId("tried").replaceChildren();
    byId<HTMLButtonElement>("try").disabled = false;
  }

  private async run(): Promise<void> {
    this.forget();
    const own = this.number;
    byId<HTMLButtonElement>("try").disabled = true;
    try {
      complain((await ask(this.engine, { ask: "try", ...this.text() })).head);
      for (;;) {
        const { head } = await ask(this.engine, { ask: "try-on", most_events: EVENTS });
        if (own !== this.number) return;
        if (head.over) {
          this.show(head.report);
          return;
        }
        byId("tried").replaceChildren(el("progress", { value: head.done, max: head.runs }));
      }
    } catch (error) {
      if (own === this.number)
        byId("tried").replaceChildren(el("p", {}, String(error instanceof Error ? error.message : error)));
    } finally {
      if (own === this.number) byId<HTMLButtonElement>("try").disabled = false;
    }
  }

  private show(report: Report): void {
    const [head, ...rows] = report.lines as [string[], ...string[][]];
    byId("tried").replaceChildren(
      el(
        "table",
        {},
        el("thead", {}, el("tr", {}, ...head.map((cell) => el("th", {}, cell)))),
        el("tbody", {}, ...rows.map((row) => el("tr", {}, ...row.map((cell) => el("td", {}, cell))))),
      ),
      el(
        "p",
        {},
        `Differences, means of ${report.pairs} pairs of equal seeds; helps, costs: the 95 % interval leaves out zero.`,
      ),
      ...report.left_out.map((one) => el("p", {}, `Left out: ${one.change}: ${one.why}`)),
    );
  }
}
