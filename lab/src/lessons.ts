// Lessons: each has a scenario, three sentences, and a control to move; see lessons/lessons.json.

import bOverN from "../lessons/b-over-n.toml";
import bufferbloat from "../lessons/bufferbloat.toml";
import compound from "../lessons/compound.toml";
import hiddenNode from "../lessons/hidden-node.toml";
import hotSpot from "../lessons/hot-spot.toml";
import las from "../lessons/las.toml";
import lessons from "../lessons/lessons.json";
import sessions from "../lessons/sessions.toml";
import slowStation from "../lessons/slow-station.toml";
import uploads from "../lessons/uploads.toml";
import vegas from "../lessons/vegas.toml";

export interface Lesson {
  id: string;
  title: string;
  sentences: string[];
  /** The key to change. */
  slider: string;
  move: string;
  text: string;
  /** Length of the interval that the air shows [s]. */
  window_s?: number;
}

const TEXTS: Record<string, string> = {
  "hot-spot": hotSpot,
  uploads,
  "slow-station": slowStation,
  las,
  "b-over-n": bOverN,
  "hidden-node": hiddenNode,
  vegas,
  bufferbloat,
  sessions,
  compound,
};

export const LESSONS: Lesson[] = lessons.map((lesson) => ({ ...lesson, text: TEXTS[lesson.id]! }));
