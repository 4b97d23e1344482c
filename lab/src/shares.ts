// Parts of a whole as bars: uses of the air, and losses by location.

import { el, figure, restyle, write } from "./dom";

export interface Share {
  name: string;
  value: number;
  text: string;
  colour: string;
}

const NONE: Share = { name: "none", value: 0, text: "", colour: "none" };

export class Shares {
  readonly root = el("figure", { class: "plot shares" });
  private readonly list: HTMLUListElement;

  constructor(title: string, small: string, about: string) {
    this.list = el("ul", { "aria-label": title });
    this.root.append(el("figcaption", { title: about }, title, el("small", {}, small)), this.list);
  }

  show(shares: Share[]): void {
    const most = Math.max(1e-9, ...shares.map((one) => one.value));
    const shown = shares.length ? shares : [NONE];
    while (this.list.childElementCount > shown.length) this.list.lastElementChild!.remove();
    while (this.list.childElementCount < shown.length) {
      this.list.append(
        el("li", {}, el("span"), el("div", { class: "track" }, el("div", { class: "bar" })), el("output")),
      );
    }
    shown.forEach((one, i) => {
      const [name, track, value] = this.list.children[i]!.children as unknown as [
        HTMLElement,
        HTMLElement,
        HTMLElement,
      ];
      if (name.title !== one.name) name.textContent = name.title = one.name;
      restyle(
        track.firstElementChild as HTMLElement,
        `width:${((100 * one.value) / most).toFixed(1)}%;background:${one.colour}`,
      );
      write(value, one.text);
    });
  }
}

export const percent = (x: number): string => `${figure(100 * x)} %`;
