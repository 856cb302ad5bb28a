// The odds of a match: no price without its age and its permission.

/** @import { Change, OddsOptions, Price } from "./types.d.ts" */
/** @import { Follow } from "./follow.js" */
/** @import { Hub } from "./client.js" */

/** How the best price of all bookmakers is named. */
export const CONSENSUS = "consensus";

// Names that are usual elsewhere, for kinds of markets here.
/** @type {Record<string, string>} */
const KINDS = { "1x2": "match_winner", moneyline: "match_winner", totals: "over_under", btts: "both_teams_to_score" };
// Kinds of events after which the score is another one, or may be.
const SCORE_KINDS = new Set(["goal", "retract", "correct", "score", "shootout"]);

export class Odds {
  #hub;
  #match;
  /** @type {Map<string, Follow>} */
  #books = new Map();
  // The sequence of the match's channel at its last change of the score, in its epoch.
  #scoreSeq = 0;
  /** @type {string | undefined} */
  #epoch;

  /**
   * Made by `hub.odds`.
   *
   * @param {Hub} hub
   * @param {string} ch
   * @param {OddsOptions} [options]
   */
  constructor(hub, ch, { bookmakers = [], ...options } = {}) {
    this.#hub = hub;
    this.#match = hub.follow(ch, { rate: 0, signal: options.signal });
    this.#books.set(CONSENSUS, hub.follow(`${ch}/odds`, options));
    for (const slug of bookmakers) this.#books.set(slug, hub.follow(`${ch}/odds/${slug}`, options));
    this.#match.on("change", (change) => this.#noteScore(change));
  }

  /**
   * The book of a bookmaker that is followed, or the `consensus`.
   *
   * @param {string} [bookmaker]
   * @returns {Follow | undefined}
   */
  book(bookmaker = CONSENSUS) {
    return this.#books.get(bookmaker);
  }

  /**
   * A price that may be used now: undefined unless the book is live and not suspended, its market open and the selection active.
   *
   * @param {string} bookmaker a slug, or `consensus`
   * @param {string} market its id, or its kind (`match_winner`, also `1x2`), with the line if there are several: `over_under@2.5`
   * @param {string} selection its id or outcome, such as `home`, in any case
   * @returns {Price | undefined}
   */
  price(bookmaker, market, selection) {
    const price = this.stale(bookmaker, market, selection);
    return price?.open ? price : undefined;
  }

  /**
   * The last known price, whether it may be used or not (`open`), with its age.
   *
   * @param {string} bookmaker
   * @param {string} market
   * @param {string} selection
   * @returns {Price | undefined}
   */
  stale(bookmaker, market, selection) {
    const { channel, data, health } = this.#books.get(bookmaker) ?? {};
    const [id, found] = marketOf(data, market) ?? [];
    const [key, chosen] = selectionOf(found, selection) ?? [];
    if (!chosen?.price || id === undefined || key === undefined) return undefined;
    const isOpen = health === "live" && data.life !== "ended" && !data.suspended && found.status === "open" && chosen.status === "active";
    const received = channel?.at?.in ?? channel?.at?.pub;
    const ageMs = received ? Math.max(0, (this.#hub.serverNow() - received) / 1000) : Infinity;
    return { bookmaker, market: id, selection: key, text: chosen.price, value: decimal(chosen.price), ageMs, open: isOpen };
  }

  /** Whether every book that is followed was priced after the last change of the score; not known is no. */
  seenScore() {
    const { data, health } = this.#match;
    if (data === undefined || health === "lost" || health === "catching_up") return false;
    return [...this.#books.values()].every((book) => (book.data?.match_seq ?? (book.data ? -1 : Infinity)) >= this.#scoreSeq);
  }

  /**
   * Each change of each book, merged (`merged` says so) only while the program is busy.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {AsyncGenerator<Change & { bookmaker: string }, void>}
   */
  async *updates(options = {}) {
    const iterators = [...this.#books].map(([bookmaker, book]) => {
      return book.iterate((change) => ({ ...change, bookmaker }), options);
    });
    // The next of each; the one that has come longest is given first.
    const next = new Map(iterators.map((it) => [it, it.next()]));
    /** @param {any} it */
    const tagged = (it) => /** @type {Promise<IteratorResult<any>>} */ (next.get(it)).then((result) => ({ it, result }));
    try {
      while (next.size > 0) {
        const { it, result } = await Promise.race([...next.keys()].map(tagged));
        next.delete(it);
        if (result.done) continue;
        yield result.value;
        next.set(it, it.next());
      }
    } finally {
      for (const it of iterators) it.return();
    }
  }

  [Symbol.asyncIterator]() {
    return this.updates();
  }

  /**
   * `change` of any book, as of `follow`, with `bookmaker` after it; and the books' events.
   *
   * @param {string} name
   * @param {(value: any, bookmaker: string) => void} handler
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {() => void} removes the handler
   */
  on(name, handler, options) {
    const offs = [...this.#books].map(([bookmaker, book]) => book.on(name, (value) => handler(value, bookmaker), options));
    return () => offs.forEach((off) => off());
  }

  close() {
    this.#match.close();
    for (const book of this.#books.values()) book.close();
  }

  /** @param {Change} change */
  #noteScore({ events, missed, epoch, seq = 0, changed }) {
    const isNew = this.#epoch === undefined;
    if (epoch !== this.#epoch) this.#scoreSeq = 0;
    this.#epoch = epoch;
    // What changed it was not delivered: the prices must have seen all of it. Books in the first image are consistent with it.
    const unseen = missed !== undefined && !isNew && changed("score");
    if (unseen || events.some(({ kind }) => SCORE_KINDS.has(kind))) this.#scoreSeq = seq;
  }
}

/**
 * @param {any} data
 * @param {string} wanted
 * @returns {[string, any] | undefined}
 */
function marketOf(data, wanted) {
  const markets = data?.markets ?? {};
  if (Object.hasOwn(markets, wanted)) return [wanted, markets[wanted]];
  const [name, line] = wanted.toLowerCase().split("@");
  const kind = KINDS[name] ?? name;
  return Object.entries(markets).find(([, market]) => {
    return market.kind === kind && market.period === undefined && (line === undefined || market.line === line);
  });
}

/**
 * @param {any} market
 * @param {string} wanted
 * @returns {[string, any] | undefined}
 */
function selectionOf(market, wanted) {
  const selections = market?.selections ?? {};
  if (Object.hasOwn(selections, wanted)) return [wanted, selections[wanted]];
  const outcome = wanted.toLowerCase();
  return Object.entries(selections).find(([id, selection]) => (selection.outcome ?? id).toLowerCase() === outcome);
}

/**
 * A decimal string without loss: `2.10` is 210 / 10 ** 2.
 *
 * @param {string} text
 */
export function decimal(text) {
  const [whole, fraction = ""] = text.split(".");
  return { units: BigInt(whole + fraction), scale: fraction.length };
}
