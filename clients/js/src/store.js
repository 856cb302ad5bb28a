// Documents as signals, for view libraries: values that change at most once a frame of the screen, and only if they differ.
//
//   const store = createStore(hub);
//   const score = store.select("football/204849", (match) => match.score);
//   const stop = score.subscribe((value) => render(value));   // now, and after each change; Svelte's contract for stores
//
// A value read between two frames is that of the last frame, so that all views of a frame show one moment.

import { equal } from "./compare.js";

/** @import { DocumentOf, FollowRate, Health, Signal } from "./types.d.ts" */
/** @import { Follow } from "./follow.js" */
/** @import { Hub } from "./client.js" */

/** @param {Hub} hub */
export function createStore(hub) {
  return new Store(hub);
}

export class Store {
  /** @type {Map<string, View>} */
  #views = new Map();

  /** @param {Hub} hub */
  constructor(hub) {
    this.hub = hub;
  }

  /**
   * A part of a channel's document. It is undefined before the first document, without asking `select`.
   *
   * @template {string} Ch
   * @template [Value=DocumentOf<Ch>]
   * @param {Ch} ch a name, not a pattern
   * @param {(data: DocumentOf<Ch>) => Value} [select] may make new objects: they count as changed only if they differ
   * @param {{ rate?: FollowRate }} [options]
   * @returns {Signal<Value>}
   */
  select(ch, select = (data) => /** @type {any} */ (data), options) {
    const view = this.view(ch, options?.rate);
    return new Selected(view, () => (view.data === undefined ? undefined : select(view.data)));
  }

  /**
   * @param {string} ch
   * @returns {Signal<Health>}
   */
  health(ch) {
    const view = this.view(ch);
    return new Selected(view, () => view.health);
  }

  /**
   * What views of a channel share: one reader, as long as there are any.
   *
   * @param {string} ch
   * @param {FollowRate} [rate]
   */
  view(ch, rate = "frame") {
    const key = `${rate} ${ch}`;
    const known = this.#views.get(key);
    if (known) return known;
    // Kept only while it is watched: a rendering that is thrown away must leave nothing.
    const view = new View(this.hub, ch, rate, (isWatched) => {
      if (isWatched) this.#views.set(key, this.#views.get(key) ?? view);
      else if (this.#views.get(key) === view) this.#views.delete(key);
    });
    return view;
  }
}

/** The document and health of a channel as of the last frame. */
export class View {
  #hub;
  #ch;
  #rate;
  #used;
  /** @type {Set<() => void>} */
  #watchers = new Set();
  /** @type {Follow | undefined} */
  #follow;
  /** @type {any} */
  #data;
  /** @type {Health} */
  #health = "waiting";

  /**
   * @param {Hub} hub
   * @param {string} ch
   * @param {FollowRate} rate
   * @param {(isWatched: boolean) => void} used called when the first begins to watch, and when the last has ended
   */
  constructor(hub, ch, rate, used) {
    this.#hub = hub;
    this.#ch = ch;
    this.#rate = rate;
    this.#used = used;
  }

  /** @returns {any} */
  get data() {
    return this.#follow ? this.#data : this.#hub.stream.channel(this.#ch)?.data;
  }

  /** @returns {Health} */
  get health() {
    return this.#follow ? this.#health : (this.#hub.stream.channel(this.#ch)?.health ?? "waiting");
  }

  /**
   * Calls `run` after each frame in which the document or its health has changed. Returns what ends it.
   *
   * @param {() => void} run
   * @returns {() => void}
   */
  watch(run) {
    const watcher = () => run();
    this.#watchers.add(watcher);
    if (this.#follow === undefined) this.#start();
    return () => {
      if (!this.#watchers.delete(watcher) || this.#watchers.size > 0) return;
      this.#follow?.close();
      this.#follow = undefined;
      this.#used(false);
    };
  }

  #start() {
    this.#used(true);
    const follow = (this.#follow = this.#hub.follow(this.#ch, { rate: this.#rate }));
    this.#data = follow.data;
    this.#health = follow.health;
    follow.on("change", ({ data, health }) => {
      if (data === this.#data && health === this.#health) return;
      this.#data = data;
      this.#health = health;
      for (const watcher of [...this.#watchers]) watcher();
    });
  }
}

/**
 * @template Value
 * @implements {Signal<Value>}
 */
class Selected {
  #view;
  #select;
  /** @type {Value | undefined} */
  #value = undefined;

  /**
   * @param {View} view
   * @param {() => Value | undefined} select
   */
  constructor(view, select) {
    this.#view = view;
    this.#select = select;
  }

  get value() {
    const value = this.#select();
    if (!equal(value, this.#value)) this.#value = value;
    return this.#value;
  }

  /** @type {Signal<Value>["subscribe"]} */
  subscribe(run) {
    /** @type {Value | undefined} */
    let last;
    const stop = this.#view.watch(() => {
      const { value } = this;
      if (value === last) return;
      last = value;
      run(value);
    });
    last = this.value;
    run(last);
    return stop;
  }
}
