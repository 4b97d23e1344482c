// Shares of a whole as bars: who had the air, and where packets were lost.

import { el, figure } from "./dom";

export interface Share {
  name: string;
  value: number;
  text: string;
  colour: string;
}

export class Shares {
  readonly root = el("figure", { class: "plot shares" });
  private readonly list: HTMLUListElement;

  constructor(title: string, small: string, about: string) {
    this.list = el("ul", { "aria-label": title });
    this.root.append(el("figcaption", { title: about }, title, el("small", {}, small)), this.list);
  }

  show(shares: Share[]): void {
    const most = Math.max(1e-9, ...shares.map((one) => one.value));
    this.list.replaceChildren(
      ...(shares.length ? shares : [{ name: "none", value: 0, text: "", colour: "none" }]).map((one) =>
        el(
          "li",
          {},
          el("span", { title: one.name }, one.name),
          el("div", { class: "track" }, el("div", { class: "bar", style: `width:${(100 * one.value) / most}%;background:${one.colour}` })),
          el("output", {}, one.text),
        ),
      ),
    );
  }
}

export const percent = (x: number): string => `${figure(100 * x)} %`;
