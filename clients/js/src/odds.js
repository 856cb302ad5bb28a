// The odds of a match: no price without its age and its permission.

/** @import { Change, OddsOptions, Price } from "./types.d.ts" */
/** @import { Changes } from "./changes.js" */
/** @import { Follow } from "./follow.js" */
/** @import { Hub } from "./client.js" */

/** How the best price of all bookmakers is named. */
export const CONSENSUS = "consensus";

// Names that are usual elsewhere, for kinds of markets here.
/** @type {Record<string, string>} */
const KINDS = { "1x2": "match_winner", moneyline: "match_winner", totals: "over_under", btts: "both_teams_to_score" };
// Kinds of events after which the score is another one, or may be, and the parts of a match's document that have it.
const SCORE_KINDS = new Set(["goal", "retract", "correct", "score", "shootout", "point", "game", "set", "match"]);
const SCORE_PARTS = ["score.home", "score.away", "score.pens", "periods", "sets", "game", "points"];

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
   * @param {string} market its id, or its kind (`match_winner`, also `1x2`) with its period and line, if it has them:
   *   `over_under@2.5`, `match_winner:first_half`. If several fit, there is no price: use the id
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
    const { health } = this.#match;
    if (health !== "live" && health !== "ended") return false;
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
    // The next of each, in the order in which they come. Each is waited for once, however long a quiet book takes.
    /** @type {{ it: Changes<any>, next: ReturnType<Changes<any>["next"]> }[]} */
    const arrived = [];
    /** @type {(value?: any) => void} */
    let wake = () => {};
    const ask = (/** @type {Changes<any>} */ it) => {
      const next = it.next();
      const arrive = () => wake(arrived.push({ it, next }));
      next.then(arrive, arrive);
    };
    iterators.forEach(ask);
    let open = iterators.length;
    try {
      while (open > 0) {
        const first = arrived.shift();
        if (first === undefined) {
          await new Promise((resolve) => (wake = resolve));
          continue;
        }
        const { done, value } = await first.next;
        if (done) {
          open -= 1;
        } else {
          yield value;
          ask(first.it);
        }
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
  #noteScore({ events, epoch, seq = 0, changed }) {
    const isNew = this.#epoch === undefined;
    if (epoch !== this.#epoch) this.#scoreSeq = 0;
    this.#epoch = epoch;
    // Books in the first image are consistent with it. Not every source tells changes of the score as events.
    const isChanged = !isNew && SCORE_PARTS.some((part) => changed(part));
    if (isChanged || events.some(({ kind }) => SCORE_KINDS.has(kind))) this.#scoreSeq = seq;
  }
}

/**
 * The market with this id, or the only one of this kind, period and line.
 *
 * @param {any} data
 * @param {string} wanted
 * @returns {[string, any] | undefined}
 */
function marketOf(data, wanted) {
  const markets = data?.markets ?? {};
  if (Object.hasOwn(markets, wanted)) return [wanted, markets[wanted]];
  const [head, line] = wanted.split("@");
  const [name, period] = head.split(":");
  const kind = KINDS[name.toLowerCase()] ?? name.toLowerCase();
  const found = Object.entries(markets).filter(([, market]) => market.kind === kind && market.period === period && market.line === line);
  return found.length === 1 ? found[0] : undefined;
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
