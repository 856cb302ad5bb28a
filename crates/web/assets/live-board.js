// The board of all sports: a row for each match, kept current in place, at most once a frame.

import { connect } from "/client/v1/matchwire.js";
import { Announcer, Connection, addonsText, byId } from "./connection.js";
import { Favourites, arrange, competitions, counts, filtersOf, fragmentOf, scoreChanges, summary } from "./live-rows.js";
import { SPORTS, hasRunningClock, isLive, namesOf, pairing, rowHealth, scoreOf, stateOf, whenText } from "./sports.js";
import { KeyedList, el, healthReason, healthWord, setAttribute, setText, trustedUntil } from "./view.js";

const TICK_MS = 1000;
// How long a changed score stays marked, for those who looked elsewhere.
const MARKED_MS = 20_000;
// How often scores are spoken at most.
const SPEAK_EVERY_MS = 10_000;
const STATUSES = { "": "All", live: "Live", next: "Upcoming", over: "Finished" };
// What a row says besides the words of a badge.
const ROW_WORDS = { live: "", ended: "", waiting: "", interrupted: "Interrupted", held: "No news" };

class BoardPage {
  #hub;
  #follows = {};
  #boards = {};
  #filters = filtersOf(location.hash);
  #favourites = new Favourites(storage());
  #announcer = new Announcer();
  #connection = new Connection((credential) => this.#open(credential), this.#announcer);
  #sports;
  #statuses;
  #groups;
  #notices;
  #options = "";
  #drawing = false;
  /** The scores that changed: when, and which sides, by row. */
  #marked = new Map();
  #unspoken = [];
  #spokenAt = 0;
  /** The row that has the focus, while it moves to another group. */
  #focused;

  constructor() {
    this.#sports = ["", ...Object.keys(SPORTS)].map((sport) => new SportButton(sport, () => this.#filter({ sport, competition: "" })));
    byId("sports").append(...this.#sports.map(({ node }) => node));
    this.#statuses = Object.entries(STATUSES).map(([status, title]) => {
      const button = el("button", { type: "button", "data-status": status }, title);
      button.addEventListener("click", () => this.#filter({ status }));
      return button;
    });
    byId("statuses").append(...this.#statuses);
    this.#groups = new KeyedList(byId("matches"), (key) => new Group(key, this));
    this.#notices = new KeyedList(byId("notices"), () => new Notice());
    byId("competition").addEventListener("change", () => this.#filter({ competition: byId("competition").value }));
    byId("search").value = this.#filters.search;
    byId("search").addEventListener("input", () => this.#filter({ search: byId("search").value }));
    byId("help").addEventListener("click", () => byId("keys").showModal());
    document.addEventListener("keydown", (press) => this.#press(press));
    addEventListener("storage", () => {
      this.#favourites.read();
      this.#draw();
    });
    addEventListener("hashchange", () => {
      this.#filters = filtersOf(location.hash);
      byId("search").value = this.#filters.search;
      this.#draw();
    });
    setInterval(() => this.#tick(), TICK_MS);
    this.#draw();
    this.#connection.start();
  }

  #open(credential) {
    this.#hub?.close();
    this.#hub = connect("/", { ...credential, onState: (state) => this.#connection.entered(state) });
    for (const sport of Object.keys(SPORTS)) {
      const follow = this.#hub.follow(sport, { rate: "frame" });
      this.#follows[sport] = follow;
      follow.on("change", ({ data }) => this.#changed(sport, data));
      follow.on("health", () => this.#draw());
    }
    return this.#hub.stream;
  }

  #changed(sport, data) {
    const changes = scoreChanges(sport, this.#boards[sport], data);
    this.#boards[sport] = data;
    const at = Date.now();
    for (const { key, sides } of changes) this.#marked.set(key, { at, sides });
    this.#unspoken.push(...changes);
    this.#draw();
  }

  #filter(change) {
    this.#filters = { ...this.#filters, ...change };
    const fragment = fragmentOf(this.#filters);
    history.replaceState(null, "", fragment ? `#${fragment}` : location.pathname);
    this.#draw();
  }

  // ------------------------------------------------------------------------------- for its rows

  isFavourite(key) {
    return this.#favourites.has(key);
  }

  toggleFavourite(key) {
    this.#focused = document.activeElement?.closest(".fixture")?.dataset.key;
    const isNew = this.#favourites.toggle(key);
    const [sport, id] = key.split("/");
    const match = this.#boards[sport]?.matches[id];
    this.#announcer.say(`${match ? pairing(sport, match) : "The match"} ${isNew ? "is now a favourite." : "is no longer a favourite."}`);
    this.#draw();
  }

  /** The sides whose score has just changed, if any. */
  marked(key) {
    return this.#marked.get(key);
  }

  health(sport) {
    return this.#follows[sport]?.health ?? "waiting";
  }

  /** The hub's time up to which the clocks of a sport may run. */
  now(sport) {
    const channel = this.#follows[sport]?.channel;
    return channel ? trustedUntil(channel, this.#hub.stream) : Date.now() * 1000;
  }

  // ------------------------------------------------------------------------------------ drawing

  /** Draws with the next frame, once however much changes until then. */
  #draw() {
    if (this.#drawing) return;
    this.#drawing = true;
    requestAnimationFrame(() => {
      this.#drawing = false;
      this.#render();
    });
  }

  #render() {
    const { sport, status } = this.#filters;
    for (const button of this.#sports) {
      button.show({
        pressed: button.sport === sport,
        health: button.sport === "" ? undefined : this.health(button.sport),
        ...this.#countsOf(button.sport),
      });
    }
    for (const button of this.#statuses) setAttribute(button, "aria-pressed", String(button.dataset.status === status));
    this.#showCompetitions();
    const groups = arrange(this.#boards, this.#filters, this.#favourites);
    this.#groups.show(groups.map((group) => [group.key, group]));
    this.#restoreFocus();
    this.#showNotices();
    const rows = groups.reduce((sum, group) => sum + group.rows.length, 0);
    setText(byId("shown"), rows > 0 ? `${rows} ${rows === 1 ? "match" : "matches"} shown` : "");
    byId("nothing").hidden = rows > 0;
    setText(byId("nothing"), this.#absence());
  }

  #countsOf(sport) {
    const all = sport === "" ? Object.keys(SPORTS) : [sport];
    const each = all.map((name) => counts(name, this.#boards[name]));
    return { live: each.reduce((sum, { live }) => sum + live, 0), all: each.reduce((sum, { all }) => sum + all, 0) };
  }

  #showCompetitions() {
    const options = competitions(this.#boards, this.#filters.sport);
    const text = JSON.stringify(options);
    const select = byId("competition");
    if (text !== this.#options) {
      this.#options = text;
      select.replaceChildren(el("option", { value: "" }, "All competitions"), ...options.map(([key, name]) => el("option", { value: key }, name)));
    }
    if (select.value !== this.#filters.competition) select.value = this.#filters.competition;
  }

  #absence() {
    const { sport } = this.#filters;
    const asked = sport === "" ? Object.keys(SPORTS) : [sport];
    if (asked.every((name) => this.health(name) === "waiting")) return "Loading matches.";
    const isFiltered = fragmentOf({ ...this.#filters, sport: "" }) !== "";
    return isFiltered ? "No match fits these filters." : "No matches today.";
  }

  /** Why something is missing or not current. Add-ons that are missing are named once for all their sports. */
  #showNotices() {
    const notices = new Map();
    const note = (key, sport, notice) => {
      if (!notices.has(key)) notices.set(key, { ...notice, sports: [] });
      notices.get(key).sports.push(SPORTS[sport].title);
    };
    for (const [sport, follow] of Object.entries(this.#follows)) {
      if (this.#filters.sport && this.#filters.sport !== sport) continue;
      const { health, error, channel } = follow;
      if (health === "refused" && error?.code === "not_entitled") {
        const addons = error.addons ?? [];
        note(`addon ${addons.map(({ addon }) => addon)}`, sport, { addons });
      } else if (health === "refused" && error?.code !== "not_tracked") {
        note(`error ${error?.code}`, sport, { message: error?.message });
      } else if (["late", "down", "recovering", "stale"].includes(health)) {
        note(health, sport, { health, message: healthReason(channel, this.#hub.stream) });
      }
    }
    this.#notices.show([...notices]);
  }

  /** A row that becomes a favourite is another node in another group. */
  #restoreFocus() {
    if (this.#focused === undefined) return;
    const row = document.querySelector(`.fixture[data-key="${CSS.escape(this.#focused)}"]`);
    if (document.activeElement === document.body) row?.querySelector("a").focus();
    this.#focused = undefined;
  }

  #tick() {
    if (this.#hub === undefined) return;
    this.#connection.tick(this.#hub.stream);
    const due = Date.now() - MARKED_MS;
    for (const [key, { at }] of this.#marked) if (at < due) this.#marked.delete(key);
    for (const group of this.#groups.rows()) group.tick();
    this.#speak();
  }

  /** Favourites if there are any, otherwise what is shown; all changes of a while together. */
  #speak() {
    if (this.#unspoken.length === 0 || Date.now() - this.#spokenAt < SPEAK_EVERY_MS) return;
    const shown = new Set([...document.querySelectorAll("#matches .fixture")].map((row) => row.dataset.key));
    const wanted = this.#unspoken.filter(({ key }) => (this.#favourites.size > 0 ? this.#favourites.has(key) : shown.has(key)));
    this.#unspoken = [];
    const text = summary(wanted);
    if (text === "") return;
    this.#spokenAt = Date.now();
    this.#announcer.say(text);
  }

  // ----------------------------------------------------------------------------------- keyboard

  #press(press) {
    if (press.ctrlKey || press.metaKey || press.altKey || byId("keys").open || byId("desk").hidden) return;
    const { key, target } = press;
    const isTyping = target.matches("input, select, textarea");
    const row = target.closest(".fixture");
    if (key === "Escape" && target === byId("search")) {
      target.value = "";
      this.#filter({ search: "" });
    } else if (key === "ArrowDown" && target === byId("search")) {
      this.#step(undefined, 1);
    } else if (isTyping) {
      return;
    } else if (key === "j" || (key === "ArrowDown" && row)) {
      this.#step(row, 1);
    } else if (key === "k" || (key === "ArrowUp" && row)) {
      this.#step(row, -1);
    } else if (key === "f" && row) {
      this.toggleFavourite(row.dataset.key);
    } else if (key === "/") {
      byId("search").focus();
      byId("search").select();
    } else if (key === "?") {
      byId("keys").showModal();
    } else {
      return;
    }
    press.preventDefault();
  }

  /** Moves the focus to the next row, or to the one before. */
  #step(from, by) {
    const rows = [...document.querySelectorAll("#matches .fixture")];
    const at = rows.indexOf(from);
    const next = rows[at < 0 ? (by > 0 ? 0 : rows.length - 1) : Math.min(rows.length - 1, Math.max(0, at + by))];
    next?.querySelector("a").focus({ preventScroll: true });
    next?.scrollIntoView({ block: "nearest" });
  }
}

/** One button for a sport: its name, how many are in play, and a lamp if its board is not current. */
class SportButton {
  #live = el("b");
  #lamp = el("i", { class: "lamp", hidden: true });

  constructor(sport, choose) {
    this.sport = sport;
    this.node = el("button", { type: "button", "data-sport": sport || "all" }, sport ? SPORTS[sport].title : "All sports", this.#live, this.#lamp);
    this.node.addEventListener("click", choose);
  }

  show({ pressed, health, live, all }) {
    setAttribute(this.node, "aria-pressed", String(pressed));
    setText(this.#live, live > 0 ? live : "");
    setAttribute(this.node, "title", `${live} live, ${all} in total`);
    const isBad = ["late", "down", "recovering", "stale", "lost", "catching_up"].includes(health);
    this.#lamp.hidden = !isBad;
    setAttribute(this.node, "data-health", isBad ? health : undefined);
    setAttribute(this.node, "data-locked", health === "refused" && all === 0 ? "yes" : undefined);
  }
}

class Notice {
  #text = el("span");
  #link = el("a", { class: "button", hidden: true });

  constructor() {
    this.node = el("p", { class: "board-notice" }, this.#text, this.#link);
  }

  show({ sports, addons, health, message }) {
    const names = new Intl.ListFormat("en", { type: "conjunction" }).format(sports);
    setAttribute(this.node, "data-kind", health ?? "addon");
    this.#link.hidden = addons === undefined;
    if (addons === undefined) return setText(this.#text, `${names}: ${message ?? "not available."}`);
    setText(this.#text, `${names} ${sports.length === 1 ? "needs" : "need"} ${addonsText(addons)}.`);
    setAttribute(this.#link, "href", `/addons/#${addons[0]?.addon ?? ""}`);
    setText(this.#link, addons.length > 0 ? `Get the ${addons[0].addon} add-on` : "See the add-ons");
    return undefined;
  }
}

/** A competition, or the favourites: a heading and its rows. */
class Group {
  #sport = el("span", { class: "group-sport" });
  #title = el("span", { class: "group-title" });
  #live = el("span", { class: "group-live" });
  #rows;

  constructor(key, page) {
    const list = el("ul", { class: "rows" });
    const heading = el("h2", { id: `group-${key.replace("/", "-")}` }, this.#sport, this.#title, this.#live);
    this.node = el("section", { class: "card group", "data-group": key, "aria-labelledby": heading.id }, heading, list);
    this.#rows = new KeyedList(list, (rowKey) => new Row(rowKey, page));
  }

  show({ sport, title, live, rows }) {
    setText(this.#sport, sport === undefined ? "★" : SPORTS[sport].title);
    setText(this.#title, title);
    setText(this.#live, live > 0 ? `${live} live` : "");
    this.#rows.show(rows.map((row) => [row.key, row]));
  }

  tick() {
    for (const row of this.#rows.rows()) row.tick();
  }
}

class Row {
  #page;
  #key;
  #star = el("button", { type: "button", class: "star" });
  #when = el("span", { class: "when" });
  #names = [el("span", { class: "name" }), el("span", { class: "name" })];
  #parts = [el("span", { class: "parts" }), el("span", { class: "parts" })];
  #nows = [el("span", { class: "now" }), el("span", { class: "now" })];
  #totals = [el("b", { class: "total" }), el("b", { class: "total" })];
  #health = el("span", { class: "row-health" });
  #row;
  #shownHealth;
  #shownMark;
  #isFavourite;

  constructor(key, page) {
    this.#page = page;
    this.#key = key;
    const [sport, id] = key.split("/");
    const side = (i) => el("span", { class: "entry" }, this.#names[i], this.#parts[i], this.#nows[i], this.#totals[i]);
    const link = el("a", { href: `/match/${sport}/${id}/` }, this.#when, el("span", { class: "entries" }, side(0), side(1)), this.#health);
    this.#star.addEventListener("click", () => page.toggleFavourite(key));
    this.node = el("li", { class: "fixture", "data-key": key, "data-sport": sport }, this.#star, link);
  }

  /** Touches only what differs: most rows are the same objects as before. */
  show(row) {
    const isSame = row.match === this.#row?.match;
    this.#row = row;
    this.#showHealth();
    this.#showFavourite();
    if (isSame) return;
    const { sport, match } = row;
    setAttribute(this.node, "data-state", stateOf(sport, match));
    const names = namesOf(sport, match);
    const score = scoreOf(sport, match);
    for (const i of [0, 1]) {
      setText(this.#names[i], names[i] ?? (sport === "horseracing" ? match.course : ""));
      setText(this.#totals[i], score?.[i].total ?? "");
      setText(this.#nows[i], score?.[i].now ?? "");
      this.#showParts(i, score?.[i].parts ?? []);
      const isServing = sport === "tennis" && isLive(sport, match) && match.server === i + 1;
      setAttribute(this.#names[i], "data-serving", isServing ? "yes" : undefined);
    }
    const [home, away] = score ?? [];
    const isOver = stateOf(sport, match) === "over";
    this.#names.forEach((name, i) => {
      const isWinner = isOver && score && (i === 0 ? home.total > away.total : away.total > home.total);
      setAttribute(name, "data-won", isWinner ? "yes" : undefined);
    });
    this.#showMark();
    this.#showWhen();
  }

  tick() {
    this.#showHealth();
    this.#showMark();
    if (this.#row && hasRunningClock(this.#row.match)) this.#showWhen();
  }

  #showWhen() {
    const { sport, match } = this.#row;
    setText(this.#when, whenText(sport, match, this.#page.now(sport)));
  }

  #showParts(i, parts) {
    const place = this.#parts[i];
    while (place.childElementCount > parts.length) place.lastElementChild.remove();
    while (place.childElementCount < parts.length) place.append(el("span"));
    parts.forEach((part, n) => setText(place.children[n], part));
  }

  #showHealth() {
    const { sport, match } = this.#row;
    const health = rowHealth(this.#page.health(sport), sport, match);
    if (health === this.#shownHealth) return;
    this.#shownHealth = health;
    setAttribute(this.node, "data-health", health);
    setText(this.#health, ROW_WORDS[health] ?? healthWord(health));
  }

  #showFavourite() {
    const isFavourite = this.#page.isFavourite(this.#key);
    const name = pairing(this.#row.sport, this.#row.match);
    setAttribute(this.#star, "aria-label", `Favourite: ${name}`);
    if (isFavourite === this.#isFavourite) return;
    this.#isFavourite = isFavourite;
    setAttribute(this.#star, "aria-pressed", String(isFavourite));
    setText(this.#star, isFavourite ? "★" : "☆");
  }

  /** A changed score flashes once, and stays marked for a while: without motion the mark remains. */
  #showMark() {
    const mark = this.#page.marked(this.#key);
    if (mark === this.#shownMark) return;
    this.#shownMark = mark;
    setAttribute(this.node, "data-changed", mark ? "yes" : undefined);
    this.#totals.forEach((total, i) => setAttribute(total, "data-changed", mark?.sides.includes(i) ? "yes" : undefined));
    // One that is drawn again in another group has been seen.
    if (mark === undefined || Date.now() - mark.at > 2000 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    this.node.animate({ backgroundColor: ["var(--goal)", "transparent"] }, { duration: 2500, easing: "ease-out" });
  }
}

/** Reading it throws where the browser forbids it. */
function storage() {
  try {
    return localStorage;
  } catch {
    return undefined;
  }
}

new BoardPage();
