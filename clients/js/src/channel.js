// One document, the position it stands at, and how far it can be trusted.

// For a document that does not say: two beats and a margin.
const DEFAULT_STALE_AFTER_MS = 15_000;

export class Channel {
  /** @param {string} name */
  constructor(name) {
    this.name = name;
    /**
     * The document; undefined before the first image. Treat it as read-only.
     * @type {any}
     */
    this.data = undefined;
    /** @type {string | undefined} */
    this.epoch = undefined;
    /** @type {number | undefined} */
    this.seq = undefined;
    /**
     * `{src, in, pub}` of the newest frame: when it happened, came in and went out.
     * @type {import("./types.d.ts").Moments | undefined}
     */
    this.at = undefined;
    /**
     * Local milliseconds of the last proof that the document is the newest: a frame or a beat.
     * @type {number | undefined}
     */
    this.heard = undefined;
    /**
     * `live`, `ended`; `late`, `down`, `recovering` (the source, as the hub sees it); `stale`
     * (nothing heard for `stale_after_ms`, or the hub says that it cannot know); `lost` (no connection); `catching_up` (connected, the
     * position not confirmed yet); `waiting` (no document yet); `refused` (see `error`); of a replay, `replay`.
     * @type {import("./types.d.ts").Health}
     */
    this.health = "waiting";
    /**
     * The hub's error frame when it refused the subscription.
     * @type {import("./types.d.ts").HubError | undefined}
     */
    this.error = undefined;
    /**
     * The hub's newest answer to the subscription; of a pattern perhaps with `not_entitled` and `left_out`, numbers of channels.
     * @type {Record<string, any> | undefined}
     */
    this.answer = undefined;

    // Whether this connection has confirmed the position, and whether an image was announced.
    this.synced = false;
    /** @type {string | undefined} */
    this.imageDue = undefined;
    // The highest sequence of this epoch whose events were handed out.
    this.delivered = -1;
    /**
     * What the last beat showed to be on its way.
     * @type {{ seq: number, by: number } | undefined}
     */
    this.owed = undefined;
    // Consecutive resume requests without a result.
    this.doubts = 0;
  }

  /** @returns {number} */
  get staleAfterMs() {
    return this.data?.stale_after_ms ?? DEFAULT_STALE_AFTER_MS;
  }

  /**
   * The health at a local time.
   *
   * @param {boolean} open whether there is a connection
   * @param {number} now
   * @returns {import("./types.d.ts").Health}
   */
  judge(open, now) {
    if (this.error) return "refused";
    if (this.data === undefined) return "waiting";
    if (!open) return "lost";
    if (!this.synced) return "catching_up";
    if (this.data.life === "ended") return "ended";
    if (now - (this.heard ?? 0) >= this.staleAfterMs) return "stale";
    return this.data.feed ?? "live";
  }

  /** @returns {import("./types.d.ts").Position | undefined} */
  position() {
    return this.epoch === undefined ? undefined : { epoch: this.epoch, seq: this.seq ?? 0 };
  }
}
