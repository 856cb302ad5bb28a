// The trader's page: all bookmakers of one match side by side, what may be traded, depth, signals, and this page's own lag.
//
// Documents come from the client at the chosen rate. Handlers only note what has changed; the page is drawn at most once a
// frame, in place. No price looks tradable that is held, suspended, stale, or older than the score.

import { connect } from "/client/v1/matchwire.js";
import { byId } from "./connection.js";
import { Desk } from "./desk.js";
import { SPORTS } from "./sports.js";
import {
  LagMeter, PriceHistory, ScoreWatch, bestOf, bookProblem, hasDepth, ladderOf, marketName, marketsOf, outcomeName, outcomesOf,
  overround, pairText, percent, priceProblem, scoreText, selectionsOf, signalText, sizeText, sparkPath, tabsOf, tapeText,
} from "./trade-model.js";
import { KeyedList, el, nameOf, plain, setAttribute, setText, span, svg, timeOfDay } from "./view.js";

const RATES = [["Every update", 0], ["4/s", 250], ["1/s", 1000], ["Screen", "frame"]];
// Boards only fill the list of matches.
const BOARD_RATE = 5000;
// Matches to come, of one sport, in the list.
const UPCOMING_MAX = 12;
const SPARK = { width: 72, height: 16, window: 120_000_000 };
const LAG_CHART = { width: 280, height: 44 };
const TAPE_MAX = 60;
const CONSENSUS = "";

class Trade {
  #hub;
  #desk = new Desk({ open: (options) => this.#open(options), draw: () => this.#draw(), tick: () => this.#tick() });
  #boards = new Map();
  #ch;
  #rate = 0;
  #market;
  #exchange;
  #match;
  #consensus;
  #books;
  #signals;
  #score = new ScoreWatch();
  #lag = new LagMeter();
  #histories = new Map();
  #holds = new Map();
  #tape = [];
  #listed = "";
  #started = new Set();
  #seqs = new Map();
  #columns = "";
  #old = 0;
  #rows = new KeyedList(byId("rows"), (slug) => new BookRow(slug));
  #tabs = new KeyedList(byId("markets"), (key) => new Tab(() => this.#choose({ market: key })));
  #exchanges = new KeyedList(byId("exchanges"), (slug) => new Tab(() => this.#choose({ exchange: slug })));
  #ladders = new KeyedList(byId("ladder"), () => new Ladder());
  #signalRows = new KeyedList(byId("signal-list"), () => new SignalRow());
  #tapeRows = new KeyedList(byId("tape-list"), () => new TapeRow());
  #lagFacts = new Facts(byId("lag-facts"));
  #lagPath = svg("path", { class: "lag" });

  start() {
    const [, sport, id] = /^\/trade\/([a-z]+)\/(\d+)\/?$/.exec(location.pathname) ?? [];
    this.#ch = sport && `${sport}/${id}`;
    addEventListener("popstate", () => location.reload());
    byId("pick").addEventListener("change", () => this.#go(byId("pick").value));
    byId("lag-chart").append(svg("svg", { viewBox: `0 0 ${LAG_CHART.width} ${LAG_CHART.height}`, preserveAspectRatio: "none", role: "img", "aria-label": "Lag of the newest updates" }, this.#lagPath));
    for (const [name, rate] of RATES) {
      const button = el("button", { type: "button", "data-rate": rate }, name);
      button.addEventListener("click", () => this.#setRate(rate));
      byId("rates").append(button);
    }
    this.#showRate();
    this.#desk.start();
  }

  #open(options) {
    const hub = connect("/", options);
    this.#hub = hub;
    this.#boards.clear();
    for (const sport of Object.keys(SPORTS)) {
      const board = hub.follow(sport, { rate: BOARD_RATE });
      board.on("change", () => this.#boardChanged());
      this.#boards.set(sport, board);
    }
    this.#signals = hub.follow("signals", { rate: 500 });
    this.#signals.on("change", () => this.#desk.redraw());
    this.#signals.on("health", () => this.#desk.redraw());
    if (this.#ch) this.#follow();
    return hub;
  }

  // ------------------------------------------------------------------------------- what is followed

  #boardChanged() {
    if (this.#ch === undefined) {
      // Nothing was asked for: a match in play, football first.
      for (const [sport, board] of this.#boards) {
        const live = Object.entries(board.data?.matches ?? {}).find(([, match]) => match.life === "live");
        if (live) return this.#go(`${sport}/${live[0]}`, true);
      }
    }
    return this.#desk.redraw();
  }

  #go(ch, replace = false) {
    history[replace ? "replaceState" : "pushState"](null, "", `/trade/${ch}/`);
    for (const follow of [this.#match, this.#consensus, this.#books]) follow?.close();
    this.#ch = ch;
    this.#market = undefined;
    this.#follow();
    this.#desk.redraw();
  }

  #follow() {
    this.#score = new ScoreWatch();
    this.#histories.clear();
    this.#holds.clear();
    this.#started.clear();
    this.#tape = [];
    this.#lag.reset();
    this.#match = this.#hub.follow(this.#ch, { rate: 0 });
    this.#match.on("change", (change) => {
      this.#score.note(change);
      this.#measure(change);
      for (const event of change.events) this.#note(event, undefined, change.at);
      this.#desk.redraw();
    });
    this.#match.on("health", () => this.#desk.redraw());
    this.#followPrices();
  }

  /** New readers first, so that the rate changes without an image and without a gap. */
  #followPrices() {
    const old = [this.#consensus, this.#books];
    this.#consensus = this.#hub.follow(`${this.#ch}/odds`, { rate: this.#rate });
    this.#books = this.#hub.follow(`${this.#ch}/odds/*`, { rate: this.#rate });
    // The hub then says when it holds something back for this connection.
    this.#hub.stream.set(`${this.#ch}/odds/*`, { lag: true });
    for (const follow of [this.#consensus, this.#books]) {
      follow.on("change", (change) => this.#priced(change));
      follow.on("health", () => this.#desk.redraw());
    }
    for (const follow of old) follow?.close();
  }

  #setRate(rate) {
    if (rate === this.#rate) return;
    this.#rate = rate;
    this.#lag.reset();
    this.#showRate();
    if (this.#ch && this.#hub) this.#followPrices();
    this.#desk.redraw();
  }

  #showRate() {
    for (const button of byId("rates").children) setAttribute(button, "aria-pressed", String(button.dataset.rate === String(this.#rate)));
  }

  #choose({ market = this.#market, exchange = this.#exchange }) {
    this.#market = market;
    this.#exchange = exchange;
    this.#desk.redraw();
  }

  // --------------------------------------------------------------------------------- what arrives

  #priced(change) {
    const { ch, data, at, events, patch, missed } = change;
    const slug = this.#slugOf(ch);
    this.#measure(change);
    if (missed) this.#holds.delete(slug);
    for (const event of events) {
      if (event.market === undefined && event.kind === "suspend") this.#holds.set(slug, event.why);
      if (event.market === undefined && event.kind === "resume") this.#holds.delete(slug);
      // The consensus repeats what the books say.
      if (slug !== CONSENSUS) this.#note(event, slug, at, data);
    }
    const moment = at?.in ?? at?.pub ?? this.#hub.serverNow();
    const touched = patch ? Object.keys(patch.markets ?? {}) : Object.keys(data?.markets ?? {});
    for (const id of touched) {
      const market = data.markets?.[id];
      if (market === undefined) continue;
      const [key] = marketsOf({ markets: { [id]: market } }).keys();
      for (const [outcome, selection] of selectionsOf(market)) this.#history(slug, key, outcome, selection).add(moment, selection.price);
    }
    this.#desk.redraw();
  }

  #measure({ ch, seq, epoch, at, merged, missed }) {
    const known = `${ch} ${epoch}`;
    const isImage = !this.#started.has(known) || missed !== undefined;
    this.#started.add(known);
    // A reader that was added finds a document that has come before.
    if (isImage || seq === this.#seqs.get(known)) return void this.#seqs.set(known, seq);
    this.#seqs.set(known, seq);
    this.#lag.add(performance.now(), this.#hub.serverNow(), { pub: at?.pub, merged });
  }

  #history(slug, market, outcome, selection) {
    const key = JSON.stringify([slug, market, outcome]);
    let history = this.#histories.get(key);
    if (history === undefined) this.#histories.set(key, (history = new PriceHistory(selection?.prev)));
    return history;
  }

  #note(event, slug, at, data) {
    const text = tapeText(event, slug, { match: this.#match?.data, markets: data?.markets });
    if (text === undefined) return;
    this.#tape.unshift({ id: `${slug ?? ""} ${event.eid}`, at: at?.pub ?? this.#hub.serverNow(), kind: slug === undefined ? "match" : event.kind, text });
    this.#tape.length = Math.min(this.#tape.length, TAPE_MAX);
  }

  #slugOf(ch) {
    return ch.slice(`${this.#ch}/odds`.length + 1);
  }

  // ------------------------------------------------------------------------------------- drawing

  #draw() {
    this.#drawList();
    this.#drawMatch();
    this.#drawAddon();
    this.#drawPrices();
    this.#drawSignals();
    this.#tapeRows.show(this.#tape.map((entry) => [entry.id, entry]));
    byId("tape-none").hidden = this.#tape.length > 0;
    this.#tick();
  }

  /** The list of matches; rebuilt only when it differs, because an open list must not move. */
  #drawList() {
    const groups = [];
    for (const [sport, board] of this.#boards) {
      const matches = Object.entries(board.data?.matches ?? {}).sort(([, a], [, b]) => (a.start ?? 0) - (b.start ?? 0));
      const live = matches.filter(([, match]) => match.life === "live" || match.life === "suspended");
      const next = matches.filter(([, match]) => match.life === "prematch").slice(0, UPCOMING_MAX);
      const options = [...live, ...next].map(([id, match]) => [`${sport}/${id}`, `${match.life === "prematch" ? timeOfDay(match.start) : "●"} ${pairText(match)}`]);
      if (options.length > 0) groups.push([SPORTS[sport].title, options]);
    }
    const known = groups.some(([, options]) => options.some(([ch]) => ch === this.#ch));
    if (this.#ch && !known) groups.unshift(["This match", [[this.#ch, pairText(this.#match?.data) || this.#ch]]]);
    const listed = JSON.stringify(groups);
    const pick = byId("pick");
    if (listed !== this.#listed && document.activeElement !== pick) {
      this.#listed = listed;
      pick.replaceChildren(...groups.map(([label, options]) => el("optgroup", { label }, ...options.map(([value, text]) => el("option", { value }, text)))));
    }
    if (this.#ch && document.activeElement !== pick) pick.value = this.#ch;
  }

  #drawMatch() {
    const { data, health, error } = this.#match ?? {};
    setText(byId("pair"), pairText(data) || (this.#ch ? this.#ch : "Trade"));
    document.title = data ? `${scoreText(data)} ${pairText(data)} · Trade · Matchwire` : "Trade · Matchwire";
    setText(byId("score"), scoreText(data));
    const missing = error ? (error.code === "not_tracked" ? "The hub does not have this match now. Choose another one." : error.message) : undefined;
    const words = { live: "Live", late: "Feed late", down: "Feed down", recovering: "Feed recovering", lost: "No connection", stale: "Stale", catching_up: "Catching up", waiting: "Waiting", ended: "Final", refused: "Not available" };
    setText(byId("health"), missing ?? (this.#ch ? words[health] ?? "Waiting" : "Waiting for a match"));
    setAttribute(byId("match"), "data-health", health);
  }

  #drawAddon() {
    // The pattern of books only leaves out what the account may not follow; the other two say it.
    const error = [this.#consensus?.error, this.#signals?.error].find((it) => it?.code === "not_entitled");
    byId("addon").hidden = error === undefined;
    if (error === undefined || byId("addon").childElementCount > 0) return;
    const [{ addon, price, currency } = { addon: "odds" }] = error.addons ?? [];
    const what = addon === "sports" ? "This sport needs" : "Prices of single bookmakers, depth and signals need";
    byId("addon").replaceChildren(el("strong", {}, `${what} the ${plain(addon)} add-on.`),
      `${price ? ` It costs ${price} ${currency} a month.` : ""} ${addon === "sports" ? "" : "The best prices are shown without it. "}`,
      el("a", { href: `/addons/#${addon}` }, "Get the add-on"));
  }

  /** The books by slug: those of the pattern that have a document. */
  #bookChannels() {
    const all = [...(this.#books?.channels.values() ?? [])].filter(({ name, data }) => data !== undefined && name.startsWith(`${this.#ch}/`));
    return all.sort((a, b) => a.name.localeCompare(b.name));
  }

  #drawPrices() {
    const channels = this.#bookChannels();
    const consensus = this.#consensus?.channel;
    const tabs = tabsOf([consensus?.data, ...channels.map(({ data }) => data)]);
    if (!tabs.some(([key]) => key === this.#market)) this.#market = tabs[0]?.[0];
    this.#tabs.show(tabs.map(([key, market]) => [key, { text: marketName(market), chosen: key === this.#market }]));

    const books = channels.map((channel) => ({ channel, slug: this.#slugOf(channel.name), market: marketsOf(channel.data).get(this.#market) }));
    const shown = books.length > 0 ? books.map(({ market }) => market) : [marketsOf(consensus?.data).get(this.#market)];
    const outcomes = outcomesOf(shown);
    const match = this.#match?.data;
    this.#drawColumns(outcomes.map(([outcome, selection]) => outcomeName(outcome, selection, match)));
    const rows = books.map(({ channel, slug, market }) => this.#rowOf(channel, slug, market, outcomes));
    const names = outcomes.map(([outcome]) => outcome);
    const best = bestOf(rows, names);
    for (const row of rows) for (const [outcome, cell] of row.cells) cell.isBest = best.get(outcome)?.books.includes(row.book) ?? false;
    // Without the books there is the hub's own opinion of the best.
    const total = rows.length > 0 ? this.#totalOf(best, names, consensus) : this.#totalOf(this.#bestKnown(consensus, names), names, consensus);
    this.#rows.show([...(outcomes.length > 0 ? [[CONSENSUS, total]] : []), ...rows.map((row) => [row.book, row])]);
    byId("books-none").hidden = outcomes.length > 0;
    const error = this.#consensus?.error;
    if (outcomes.length === 0) setText(byId("books-none"), error ? (error.code === "not_tracked" ? "No bookmaker has prices for this match yet." : `No prices: ${error.message ?? error.code}.`) : "Waiting for prices.");
    const usable = rows.filter(({ problem }) => problem === undefined).length;
    setText(byId("books-state"), rows.length > 0 ? `${usable} of ${rows.length} trade` : "");
    setAttribute(byId("books-state"), "data-tone", usable === 0 ? "bad" : usable < rows.length ? "warn" : "live");
    this.#drawLadders(books, outcomes, match);
  }

  #bestKnown(consensus, outcomes) {
    const market = marketsOf(consensus?.data).get(this.#market);
    const problem = consensus && bookProblem(consensus, { scoreSeq: this.#score.seq });
    const usable = [...selectionsOf(market)].filter(([outcome, it]) => outcomes.includes(outcome) && !priceProblem(problem, market, it));
    return new Map(usable.map(([outcome, { price, best }]) => [outcome, { price, books: [best].filter(Boolean) }]));
  }

  #drawColumns(names) {
    const columns = JSON.stringify(names);
    if (columns === this.#columns) return;
    this.#columns = columns;
    const head = (text, attributes) => el("th", { scope: "col", ...attributes }, text);
    byId("outcomes").replaceChildren(head("Bookmaker"), ...names.map((name) => head(name, { class: "outcome" })), head("Overround", { class: "number" }));
  }

  #rowOf(channel, slug, market, outcomes) {
    const bookWide = bookProblem(channel, { scoreSeq: this.#score.seq, hold: this.#holds.get(slug), now: this.#hub.serverNow() });
    const problem = bookWide ?? priceProblem(undefined, market, { price: "", status: "active" });
    const selections = selectionsOf(market);
    const cells = new Map(outcomes.map(([outcome]) => {
      const selection = selections.get(outcome);
      const history = this.#history(slug, this.#market, outcome, selection);
      return [outcome, { price: selection?.price, problem: priceProblem(bookWide, market, selection), history, result: selection?.status }];
    }));
    const prices = [...cells.values()].map(({ price }) => price);
    return { book: slug, problem, at: channel.at?.in ?? channel.at?.pub, cells, margin: problem ? undefined : overround(prices), isInPlay: market?.in_play };
  }

  /** The row of the best prices that may be used. The hub's own figure is exact, and used while it is of the same prices. */
  #totalOf(best, outcomes, consensus) {
    const market = marketsOf(consensus?.data).get(this.#market);
    const selections = selectionsOf(market);
    const isSame = outcomes.every((outcome) => best.get(outcome)?.price === selections.get(outcome)?.price);
    const prices = outcomes.map((outcome) => best.get(outcome)?.price);
    const margin = isSame && market?.overround !== undefined ? Number(market.overround) : overround(prices);
    const cells = new Map(outcomes.map((outcome) => {
      const { price, books = [] } = best.get(outcome) ?? {};
      const history = this.#history(CONSENSUS, this.#market, outcome, selections.get(outcome));
      return [outcome, { price, problem: price === undefined ? "None" : undefined, history, books, median: selections.get(outcome)?.median }];
    }));
    return { book: CONSENSUS, isTotal: true, cells, margin };
  }

  #drawLadders(books, outcomes, match) {
    const deep = books.filter(({ market }) => [...selectionsOf(market).values()].some(hasDepth));
    byId("ladders").hidden = deep.length === 0;
    if (deep.length === 0) return;
    if (!deep.some(({ slug }) => slug === this.#exchange)) this.#exchange = deep[0].slug;
    this.#exchanges.show(deep.map(({ slug }) => [slug, { text: slug, chosen: slug === this.#exchange }]));
    const { channel, slug, market } = deep.find((book) => book.slug === this.#exchange);
    const bookWide = bookProblem(channel, { scoreSeq: this.#score.seq, hold: this.#holds.get(slug), now: this.#hub.serverNow() });
    const selections = selectionsOf(market);
    this.#ladders.show(outcomes.filter(([outcome]) => selections.has(outcome)).map(([outcome, known]) => {
      const selection = selections.get(outcome);
      return [outcome, { name: outcomeName(outcome, known, match), selection, problem: priceProblem(bookWide, market, selection) }];
    }));
  }

  #drawSignals() {
    const { data, error, health } = this.#signals ?? {};
    const [sport, id] = (this.#ch ?? "").split("/");
    const all = Object.entries(data?.signals ?? {}).filter(([, signal]) => signal.sport === sport && String(signal.match) === id);
    all.sort(([, a], [, b]) => b.strength - a.strength || b.began - a.began);
    this.#signalRows.show(all.map(([key, signal]) => [key, { signal, words: signalText(signal, this.#match?.data) }]));
    byId("signals-none").hidden = all.length > 0;
    setText(byId("signals-none"), error ? `No signals: ${error.code === "not_entitled" ? "they need the Odds add-on." : error.message}` : data ? "None now." : "Waiting for signals.");
    setText(byId("signals-state"), health === "live" || error ? "" : plain(health ?? ""));
  }

  // ------------------------------------------------------------------------------ what time changes

  #tick() {
    const now = this.#hub.serverNow();
    const old = this.#bookChannels().filter((channel) => bookProblem(channel, { now }) === "Too old").length;
    if (old !== this.#old) {
      this.#old = old;
      this.#drawPrices();
    }
    for (const row of this.#rows.rows()) row.tick(now);
    for (const row of this.#signalRows.rows()) row.tick(now);
    const clock = this.#match?.clock();
    const { status, period } = this.#match?.data ?? {};
    setText(byId("state"), [clock, status && plain(period ?? status), nameOf(this.#match?.data?.competition)].filter(Boolean).join(" · "));
    this.#tickLag();
  }

  #tickLag() {
    const lag = this.#lag;
    const { samples } = lag;
    const ms = (value) => (value === undefined ? "–" : value < 10 ? `${value.toFixed(1)} ms` : value < 10_000 ? `${Math.round(value)} ms` : span(value));
    const rtt = this.#hub.stream.roundTripMs();
    // A lag below what the clocks are known to is no figure of its own.
    setText(byId("lag-now"), lag.last === undefined || rtt === undefined ? "–" : lag.last < rtt / 2 ? `< ${Math.ceil(rtt / 2)} ms` : ms(lag.last));
    const top = Math.max(20, ...samples);
    const step = LAG_CHART.width / (LagMeter.SAMPLES_MAX - 1);
    const y = (value) => (LAG_CHART.height - 2 - (value / top) * (LAG_CHART.height - 4)).toFixed(1);
    setAttribute(this.#lagPath, "d", samples.map((value, i) => `${i === 0 ? "M" : "L"}${(i * step).toFixed(1)} ${y(value)}`).join(""));
    const { updates, changes } = lag.rates(performance.now());
    const behind = this.#hub.stream.lag;
    const total = [...lag.merged.values()].reduce((sum, n) => sum + n, 0);
    const reasons = { rate: "your rate", slow: "slow connection", resume: "resumed", reader: "this page was busy" };
    const merged = [...lag.merged].filter(([, n]) => n > 0).map(([why, n]) => `${n} ${reasons[why] ?? why}`).join(", ");
    this.#lagFacts.show([
      ["Median, 95 %", samples.length > 0 ? `${ms(lag.quantile(0.5))}, ${ms(lag.quantile(0.95))}` : "–"],
      ["Updates", `${updates.toFixed(1)}/s for ${changes.toFixed(1)} changes/s`],
      ["Merged", total === 0 ? `none of ${lag.changes}` : `${total} of ${lag.changes}: ${merged}`],
      ["Queued in the hub", behind ? `${Math.ceil(behind.queued_bytes / 1024)} KB, ${span(behind.oldest_ms)}` : "nothing"],
      ["Clock known to", rtt === undefined ? "–" : `± ${Math.ceil(rtt / 2)} ms`],
    ]);
  }
}

class Tab {
  constructor(choose) {
    this.node = el("button", { type: "button" });
    this.node.addEventListener("click", choose);
  }

  show({ text, chosen }) {
    setText(this.node, text);
    setAttribute(this.node, "aria-pressed", String(chosen));
  }
}

/** One bookmaker, or the best prices of all. */
class BookRow {
  #name = el("span", { class: "name" });
  #state = el("span", { class: "status" });
  #age = el("span", { class: "age" });
  #margin = el("td", { class: "number margin" });
  #cells = new Map();
  #value;

  constructor(slug) {
    setText(this.#name, slug === CONSENSUS ? "Best price" : slug);
    this.node = el("tr", { class: slug === CONSENSUS ? "total" : undefined, "data-book": slug },
      el("th", { scope: "row" }, this.#name, el("span", { class: "under" }, this.#state, this.#age)), this.#margin);
  }

  show(row) {
    this.#value = row;
    setAttribute(this.node, "data-problem", row.problem ? "yes" : undefined);
    const isUsable = [...row.cells.values()].some(({ problem }) => problem === undefined);
    setText(this.#state, row.isTotal ? (isUsable ? "usable now" : "none usable now") : (row.problem ?? (row.isInPlay ? "In play" : "Open")));
    setText(this.#margin, percent(row.margin));
    setAttribute(this.#margin, "data-sign", row.margin <= -0.0001 ? "arbitrage" : undefined);
    for (const [outcome, cell] of this.#cells) {
      if (row.cells.has(outcome)) continue;
      cell.node.remove();
      this.#cells.delete(outcome);
    }
    let place = this.node.children[1];
    for (const [outcome, value] of row.cells) {
      let cell = this.#cells.get(outcome);
      if (cell === undefined) this.#cells.set(outcome, (cell = new PriceCell()));
      cell.show(value, row);
      if (cell.node === place) place = place.nextElementSibling;
      else this.node.insertBefore(cell.node, place);
    }
  }

  tick(now) {
    const { at, isTotal } = this.#value;
    setText(this.#age, isTotal || !at ? "" : span((now - at) / 1000));
    for (const cell of this.#cells.values()) cell.tick(now);
  }
}

/** One price. It looks tradable only if it is. */
class PriceCell {
  #price = el("b", { class: "price" });
  #arrow = el("i", { class: "arrow", "aria-hidden": "true" });
  #star = el("span", { class: "star", hidden: true }, el("span", { "aria-hidden": "true" }, "★"), el("span", { class: "unseen" }, " best price"));
  #path = svg("path");
  #beside = el("span", { class: "beside" });
  #why = el("span", { class: "unseen" });
  #quote = el("span", { class: "quote" }, this.#price, this.#arrow, this.#star, this.#why);
  #value;
  #shown;

  constructor() {
    this.node = el("td", { class: "cell" }, this.#quote,
      svg("svg", { class: "spark", viewBox: `0 -1 ${SPARK.width} ${SPARK.height + 2}`, "aria-hidden": "true" }, this.#path),
      this.#beside);
  }

  show(value, row) {
    this.#value = value;
    const { price, problem, isBest, history, result } = value;
    const isOver = ["winner", "loser", "half_won", "half_lost", "push"].includes(result);
    setText(this.#price, price ?? "–");
    setText(this.#why, problem ? ` not tradable: ${problem}` : "");
    this.#star.hidden = !isBest;
    setAttribute(this.node, "data-problem", problem && (price === undefined ? "empty" : "yes"));
    setAttribute(this.node, "data-best", isBest ? "yes" : undefined);
    setAttribute(this.node, "data-result", isOver ? result : undefined);
    setAttribute(this.node, "data-move", history.move > 0 ? "up" : history.move < 0 ? "down" : undefined);
    // Another market or the first price is no movement.
    if (this.#shown?.history === history && this.#shown.price !== price && price !== undefined && !problem) flash(this.#quote, history.move);
    this.#shown = { history, price };
    // Why one price of a book that trades does not.
    this.own = problem && problem !== row.problem && price !== undefined ? problem : undefined;
  }

  tick(now) {
    const { history, books, median } = this.#value;
    const path = sparkPath(history.points, { now, ...SPARK });
    setAttribute(this.#path, "d", path);
    setAttribute(this.#path, "class", path.includes("V") ? "moved" : undefined);
    const names = books?.length > 2 ? `${books.length} books` : books?.join(", ");
    setText(this.#beside, books ? [names, median && `median ${median}`].filter(Boolean).join(" · ") : (this.own ?? history.age(now)));
  }
}

function flash(node, move) {
  if (move === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  node.animate({ backgroundColor: [move > 0 ? "var(--up-flash)" : "var(--down-flash)", "transparent"] }, { duration: 900, easing: "ease-out" });
}

/** The depth of one outcome on an exchange. */
class Ladder {
  #name = el("caption");
  #rows;
  #none = el("p", { class: "soft empty" }, "No offers.");

  constructor() {
    const body = el("tbody");
    this.#rows = new KeyedList(body, (price) => new Rung(price));
    this.node = el("div", { class: "ladder" }, el("table", {}, this.#name,
      el("thead", {}, el("tr", {}, ...["Back", "Price", "Lay", "Traded"].map((text) => el("th", { scope: "col" }, text)))), body), this.#none);
  }

  show({ name, selection, problem }) {
    const rungs = ladderOf(selection);
    setText(this.#name, [name, problem].filter(Boolean).join(" · "));
    setAttribute(this.node, "data-problem", problem ? "yes" : undefined);
    setAttribute(this.node, "data-traded", rungs.some(({ traded }) => traded !== undefined) ? "yes" : undefined);
    this.#rows.show(rungs.map((rung) => [rung.price, rung]));
    this.#none.hidden = rungs.length > 0;
  }
}

class Rung {
  #back = el("td", { class: "back" });
  #lay = el("td", { class: "lay" });
  #price;
  #traded = el("td", { class: "traded" });

  constructor(price) {
    this.#price = el("th", { scope: "row" }, price);
    this.node = el("tr", {}, this.#back, this.#price, this.#lay, this.#traded);
  }

  show({ back, lay, traded, isLast, depth }) {
    setText(this.#back, sizeText(back));
    setText(this.#lay, sizeText(lay));
    setText(this.#traded, sizeText(traded));
    setAttribute(this.node, "data-last", isLast ? "yes" : undefined);
    for (const [node, size] of [[this.#back, back], [this.#lay, lay]]) node.style.setProperty("--depth", size === undefined ? "0%" : `${Math.max(3, depth * 100).toFixed(0)}%`);
  }
}

class SignalRow {
  #what = el("span", { class: "what" });
  #kind = el("span", { class: "chip" });
  #age = el("span", { class: "soft" });
  #meter = el("meter", { min: 0, max: 100 });
  #numbers = el("ul", { class: "numbers" });
  #signal;

  constructor() {
    this.node = el("li", { class: "signal" }, el("span", { class: "line" }, this.#what, this.#age), this.#numbers,
      el("span", { class: "line" }, this.#kind, this.#meter));
  }

  show({ signal, words }) {
    this.#signal = signal;
    setText(this.#what, words.what);
    setText(this.#kind, plain(signal.kind));
    setAttribute(this.node, "data-kind", signal.kind);
    setAttribute(this.#meter, "value", signal.strength);
    setAttribute(this.#meter, "aria-label", `Strength ${signal.strength} of 100`);
    const lines = JSON.stringify(words.numbers);
    if (this.#numbers.dataset.lines === lines) return;
    this.#numbers.dataset.lines = lines;
    this.#numbers.replaceChildren(...words.numbers.filter(Boolean).map((text) => el("li", {}, text)));
  }

  tick(now) {
    setText(this.#age, span((now - this.#signal.began) / 1000));
  }
}

class TapeRow {
  #time = el("time");
  #text = el("span");

  constructor() {
    this.node = el("li", {}, this.#time, this.#text);
  }

  show({ at, kind, text }) {
    setText(this.#time, timeOfDay(at, true));
    setText(this.#text, text);
    setAttribute(this.node, "data-kind", kind);
  }
}

/** Names and values that change in place. */
class Facts {
  #values = new Map();

  constructor(list) {
    this.list = list;
  }

  show(facts) {
    for (const [name, text] of facts) {
      let value = this.#values.get(name);
      if (value === undefined) {
        value = el("dd");
        this.#values.set(name, value);
        this.list.append(el("div", {}, el("dt", {}, name), value));
      }
      setText(value, text);
    }
  }
}

new Trade().start();
