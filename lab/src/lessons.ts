// Short stories, each a scenario, three sentences, and the control to move.

import bOverN from "../lessons/b-over-n.toml";
import bufferbloat from "../lessons/bufferbloat.toml";
import compound from "../lessons/compound.toml";
import hiddenNode from "../lessons/hidden-node.toml";
import las from "../lessons/las.toml";
import lostAck from "../lessons/lost-ack.toml";
import sessions from "../lessons/sessions.toml";
import slowStation from "../lessons/slow-station.toml";
import uploads from "../lessons/uploads.toml";
import vegas from "../lessons/vegas.toml";

export interface Lesson {
  id: string;
  title: string;
  sentences: [string, string, string];
  /** The key to change. */
  slider: string;
  move: string;
  text: string;
  /** How much of the air is shown [s]. */
  window_s?: number;
}

export const LESSONS: Lesson[] = [
  {
    id: "uploads",
    title: "Why uploads win",
    sentences: [
      "Four stations upload and four download, and the uploads get nearly everything.",
      "The access point gets the air no more often than each station, and all downloads and the ACKs of all uploads share what it gets.",
      "Its queue overflows: a lost data packet halves the window of a download, while a lost ACK hardly troubles an upload with a large window.",
    ],
    slider: "stations[0].count",
    move: "the number of stations that upload. With one of them both directions get their share.",
    text: uploads,
    window_s: 0.02,
  },
  {
    id: "lost-ack",
    title: "One lost ACK",
    sentences: [
      "Fourteen stations upload, none is far away, and some starve all the same.",
      "The queue of the access point is full of ACKs; a sender with a large window loses one without harm, because the next acknowledges the same bytes.",
      "A sender with one or two segments in flight may lose all its ACKs: it waits for its timer, begins with one segment, and is as likely to lose the next ACK.",
    ],
    slider: "ap.queue.limit",
    move: "the length of the queue. With 200 packets no ACK is missed for long, and all get the same, after longer round trips.",
    text: lostAck,
    window_s: 0.02,
  },
  {
    id: "slow-station",
    title: "The slow station",
    sentences: [
      "Three stations send at 11 Mb/s and one at 1 Mb/s, and all four get the same goodput: about as much as the slow one.",
      "Channel access is fair in frames, and a frame at 1 Mb/s takes about seven times as long on the air.",
      "So the slow station takes most of the time, and the fast ones wait (M. Heusse et al., INFOCOM 2003).",
    ],
    slider: "stations[1].data_rate",
    move: "the rate of the slow station, and see everybody's goodput follow.",
    text: slowStation,
    window_s: 0.04,
  },
  {
    id: "las",
    title: "LAS against FIFO",
    sentences: [
      "Six uploads and four downloads share a queue that serves whoever came first, and the downloads starve.",
      "Least attained service hands out first what belongs to the flow that has got the least, and drops from the flow that has got the most.",
      "ACKs of an upload that leads then wait behind the data of downloads, until all have got about the same.",
    ],
    slider: "ap.queue.discipline",
    move: "the discipline from fifo to las, with this run pinned.",
    text: las,
  },
  {
    id: "b-over-n",
    title: "B/n: a window for each",
    sentences: [
      "The access point writes a receive window into the ACKs that pass: its buffer of B packets over n flows.",
      "Together the flows cannot have more under way than the buffer holds, so it never overflows, and no ACK is lost.",
      "All flows get about the same, and round trips stay short.",
    ],
    slider: "ap.scheme.window",
    move: "the scheme to none: downloads starve again.",
    text: bOverN,
  },
  {
    id: "hidden-node",
    title: "RTS/CTS and a hidden node",
    sentences: [
      "West and east both reach the access point but do not hear each other, so neither waits while the other sends.",
      "Their long frames meet at the access point, are lost, and are sent again, to meet again.",
      "With RTS and CTS only short frames meet, and the CTS tells the other one to wait: its NAV is hatched in the air.",
    ],
    slider: "wlan.rts_threshold",
    move: "the threshold to 0 B, so that every data frame is announced. Goodput grows more than fivefold.",
    text: hiddenNode,
    window_s: 0.06,
  },
  {
    id: "vegas",
    title: "Vegas beside Reno",
    sentences: [
      "Each station downloads twice, once with Vegas and once with Reno.",
      "Vegas takes longer round trips as a sign of congestion and keeps few packets in the queue; Reno fills the queue until it overflows.",
      "So Vegas yields, and gets a fraction of what Reno gets.",
    ],
    slider: "ap.queue.limit",
    move: "the length of the queue: the shorter it is, the less Reno can put there.",
    text: vegas,
  },
  {
    id: "bufferbloat",
    title: "Bufferbloat and CoDel",
    sentences: [
      "A download with CUBIC fills a queue of 1000 packets, and a call to another station has to wait behind it.",
      "The round-trip times of the call are those of the full queue, although it asks for 64 kb/s only.",
      "CoDel drops a packet when all have waited too long, so that the download slows down before the queue is long.",
    ],
    slider: "ap.queue.discipline",
    move: "the discipline to codel or fq-codel, and watch queue and RTT.",
    text: bufferbloat,
  },
  {
    id: "sessions",
    title: "Instantaneous fairness",
    sentences: [
      "Four stations upload without end; four others fetch 20 kB every two seconds.",
      "Goodput over the whole run hides how long each short session takes: what counts is its time beside that with an equal share.",
      "The index of instantaneous fairness says it: 1 is as fast as with an equal share, and here it is near 0.",
    ],
    slider: "stations[0].count",
    move: "the number of uploads to one, or choose the scheme b-over-n below: sessions finish in time.",
    text: sessions,
  },
  {
    id: "compound",
    title: "Compound's blind spot",
    sentences: [
      "Twenty stations upload with Compound TCP, whose delay window shrinks when it finds many packets in the queue.",
      "A full queue of 50 packets adds little to round trips of 220 ms, and what overflows it are ACKs, which no sender counts as a loss.",
      "So the delay window sees nothing, and Compound is about as unfair as NewReno.",
    ],
    slider: "flows[0].tcp.cc",
    move: "the congestion control to newreno, with this run pinned: the difference is within its interval.",
    text: compound,
  },
];
