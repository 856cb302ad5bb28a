// The types of the package, by hand; those of documents and events are generated, in documents.d.ts.

import type { Channel } from "./channel.js";
import type * as documents from "./documents.d.ts";
import type { Replay } from "./replay.js";

/** Milliseconds for which the hub may merge values; events never wait. */
export type Rate = 0 | 100 | 250 | 500 | 1000 | 2000 | 5000;

/** `frame` follows the screen: at most one change a frame, and few from the hub while the page is hidden. */
export type FollowRate = Rate | "frame";

export type Path = string | readonly string[];

export interface Position {
  epoch: string;
  seq: number;
}

/** Microseconds UTC: when it happened (null if the source does not say), came in and went out. */
export interface Moments {
  src?: number | null;
  in?: number | null;
  pub?: number | null;
}

export type Health =
  | "live"
  | "ended"
  | "late"
  | "down"
  | "recovering"
  | "stale"
  | "lost"
  | "catching_up"
  | "waiting"
  | "refused"
  | "replay";

/** What was not delivered one by one. `events`: how many were dropped because this program did not take them. */
export interface Missed {
  from: number;
  to: number;
  why: string;
  events?: number;
}

/** A change that stands for `n`. `why`: `rate`, `slow`, `resume` (by the hub) or `reader` (this program was busy). */
export interface Merged {
  n: number;
  why: string;
}

/** Something that happened. `eid` is its permanent id; docs/PROTOCOL.md lists the fields by kind. */
export interface HubEvent {
  kind: string;
  eid: string;
  /** Of a retraction or correction: the `eid` that it concerns. */
  of?: string;
  why?: string;
  [field: string]: any;
}

/**
 * The document of a channel, by its name or pattern. Each may be nearly empty at first (`OpeningDocument`), so all but the header is
 * optional.
 */
export type DocumentOf<Ch extends string> = Ch extends `${string}/${string}/odds/${string}`
  ? Opening<documents.Odds>
  : Ch extends `${string}/${string}/odds`
    ? Opening<documents.ConsensusOdds>
    : Ch extends `test/${infer Sport}` | `${infer Sport}/${string}`
      ? Sport extends keyof documents.Matches
        ? Opening<documents.Matches[Sport]>
        : any
      : Ch extends keyof documents.Boards
        ? Opening<documents.Boards[Ch]>
        : any;

type Opening<Data> = documents.OpeningDocument & Partial<Data>;

/** The events of a channel, by its name or pattern. */
export type EventOf<Ch extends string> = Ch extends `${string}/${string}/odds/${string}`
  ? documents.OddsEvent
  : Ch extends `${string}/${string}/odds`
    ? documents.ConsensusEvent
    : Ch extends `test/${infer Sport}` | `${infer Sport}/${string}`
      ? Sport extends "football"
        ? documents.FootballEvent
        : Sport extends "tennis"
          ? documents.TennisEvent
          : Sport extends "horseracing"
            ? documents.RaceEvent
            : Sport extends keyof documents.Matches
              ? documents.ScoreboardEvent
              : HubEvent
      : Ch extends "signals"
        ? documents.SignalEvent
        : HubEvent;

/** What a handler of `follow` gets, by what it listens to. Of kinds that this version does not know, any event. */
export type Heard<Name extends string, Data, Happened> = Name extends "change"
  ? Change<Data, Happened>
  : Name extends "health"
    ? Health
    : Name extends "event"
      ? Happened
      : [Extract<Happened, { kind: Name }>] extends [never]
        ? HubEvent
        : Extract<Happened, { kind: Name }>;

export interface HubError {
  code: string;
  message?: string;
  retry?: boolean;
  ch?: string;
  [field: string]: any;
}

export interface ChannelChange {
  kind: "image" | "update" | "health";
  events: HubEvent[];
  patch?: any;
  missed?: Missed;
  merged?: Merged;
}

export type Listener = (channel: Channel, change: ChannelChange) => void;

export interface SubscribeParams {
  every_ms?: number;
  on_slow?: "merge" | "resync" | "close";
  lag?: boolean;
  /** JSON pointers to the parts of the documents to send, in which `*` stands for any one member. */
  pick?: string[];
  /** All events, none, or those of these kinds. */
  events?: boolean | string[];
}

export type Phase = "connecting" | "open" | "waiting" | "closed";

export interface StreamState {
  phase: Phase;
  attempt: number;
  code?: number;
  why?: string;
  message?: string;
  /** Whether the hub has named `retryAt`. */
  isFixed?: boolean;
  /** When it tries again, in milliseconds by `now()` of the stream: its clock never goes back, unlike that of `Date`. */
  retryAt?: number;
}

export interface Clock {
  now(): number;
  /** Milliseconds by which `now` has jumped ahead so far: the machine has slept, or somebody has set its clock. */
  jumped?: number;
  setTimeout(run: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
}

export interface StreamOptions {
  /** An API key. Not in pages that others read: use `protocols` with a ticket there. */
  key?: string;
  /**
   * The subprotocols to offer, or a function that makes them for each connection; a promise of them will do.
   */
  protocols?: string[] | (() => string[] | Promise<string[]>);
  /** Called when `state` changes. */
  onState?: (state: StreamState) => void;
  /** For platforms without a global `WebSocket`, and for tests. */
  WebSocket?: any;
  clock?: Clock;
  random?: () => number;
}

export type ReplayPhase = "starting" | "playing" | "lost" | "ended" | "refused" | "closed";

export interface ReplayOptions {
  /** Where to begin: `start`, or a recorded time in microseconds. */
  from?: "start" | { at: number };
  /** 0.1 to 100, or as fast as this program reads. */
  speed?: number | "max";
  onChange?: Listener;
  /** Called when its phase or position changes other than by time. */
  onState?: (replay: Replay) => void;
}

/** What an iterator or a `change` handler gets: the newest document, and everything that led to it. */
export interface Change<Data = any, Happened = HubEvent> {
  /** The channel's name. */
  ch: string;
  data: Data;
  health: Health;
  epoch?: string;
  seq?: number;
  at?: Moments;
  /** Each exactly once, in order. */
  events: Happened[];
  /** The merge patch, if the change is one update of the hub, and the reader has the document before it. */
  patch?: any;
  missed?: Missed;
  merged?: Merged;
  /** Whether the part of the document at a path, such as `score.home`, differs from the change before. */
  changed(path: Path): boolean;
}

export interface ConnectOptions extends StreamOptions {
  /**
   * Returns a ticket for one connection, such as the program's own server buys with its key. If it throws, the client waits and
   * calls it again, so it must not return what is no ticket, such as the text of an error.
   */
  ticket?: () => string | Promise<string>;
  /** Closes the connection. */
  signal?: AbortSignal;
  /** How long a channel stays subscribed after its last reader has left. 2,000 by default. */
  lingerMs?: number;
}

export interface FollowOptions {
  rate?: FollowRate;
  /** Every value, as long as this program keeps up: the hub is never asked for fewer. */
  lossless?: boolean;
  signal?: AbortSignal;
}

export interface BoardOptions extends FollowOptions {
  where?: (match: BoardRow) => boolean;
}

/** A line of a board. */
export interface BoardRow {
  id: string;
  life?: string;
  status?: string;
  start?: number;
  [field: string]: any;
}

export interface OddsOptions extends FollowOptions {
  /** The books to follow besides the consensus, by slug. */
  bookmakers?: string[];
}

export interface Price {
  bookmaker: string;
  market: string;
  selection: string;
  /** As the source wrote it: `2.10`. */
  text: string;
  /** Exact: `units / 10 ** scale`. */
  value: { units: bigint; scale: number };
  /** Milliseconds since the hub received the newest change of this book. */
  ageMs: number;
  /** Whether it may be used: the book is live, its market open, the selection active. */
  open: boolean;
}

/** The answer to a proof: whether this program has what the hub has. */
export interface Proof {
  ok: boolean;
  ch: string;
  epoch: string;
  seq: number;
  /** Hexadecimal, of the hub. */
  sha256: string;
  /** Hexadecimal, of the document here. */
  own: string;
}

export interface Signal<Value> {
  /** Of the last frame; stays the same value until `subscribe`'s callbacks run. */
  readonly value: Value | undefined;
  /** Calls `run` now and after each change of the value. Returns what ends it. */
  subscribe(run: (value: Value | undefined) => void): () => void;
}
