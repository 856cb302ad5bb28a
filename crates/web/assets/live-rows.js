// What the live board computes before it draws: which rows are shown in which order, what has changed, and what is said
// about it. It knows no page, so that it can be tested without one.

import { inOrder } from "./boards.js";
import { SPORTS, isLive, namesOf, pairing, scoreOf, scoreText, stateOf } from "./sports.js";
import { nameOf } from "./view.js";

// More than anyone follows; the oldest are dropped.
const FAVOURITES_MAX = 500;
// More than this in one announcement nobody listens to.
const SPOKEN_MAX = 3;

/** What is shown: `sport`, `status` and `competition` (`football/17`) are "" for all; `search` is text. */
export const EVERYTHING = { sport: "", status: "", competition: "", search: "" };

/** The filters in the fragment of an address; what it does not know it ignores. */
export function filtersOf(fragment) {
  const words = new URLSearchParams(fragment.replace(/^#/, ""));
  const filters = { ...EVERYTHING };
  for (const name of Object.keys(EVERYTHING)) filters[name] = words.get(name) ?? "";
  if (!Object.hasOwn(SPORTS, filters.sport)) filters.sport = "";
  if (!["live", "next", "over"].includes(filters.status)) filters.status = "";
  return filters;
}

/** The fragment for these filters; empty for everything. */
export function fragmentOf(filters) {
  return String(new URLSearchParams(Object.entries(filters).filter(([, value]) => value !== "")));
}

/** What feeds without a letter write for it, where removing its accent does not do: the Latin ones, and the Cyrillic ones. */
const LETTERS = { ß: "ss", æ: "ae", ø: "o", œ: "oe", ł: "l", đ: "d", ð: "d", þ: "th", ı: "i", ħ: "h", ə: "a" };
[..."абвгдезиклмнопрстуфыэіј"].forEach((letter, index) => (LETTERS[letter] = "abvgdeziklmnoprstufyeij"[index]));
Object.assign(LETTERS, { ж: "zh", х: "kh", ц: "ts", ч: "ch", ш: "sh", щ: "shch", ю: "yu", я: "ya", ъ: "", ь: "" });

/** Names without accents, apostrophes and case, in Latin letters, as people type them. */
export function folded(text) {
  const plain = String(text).normalize("NFKD").replace(/[\p{M}'’]/gu, "").toLowerCase();
  return plain.replace(/[^\0-\x7f]/g, (letter) => LETTERS[letter] ?? letter);
}

const SPELLINGS = { ae: "a", oe: "o", ue: "u", aa: "a", dj: "d", y: "i" };

/** Folded names in which usual spellings of a letter are one: Koeln is Köln. */
function inOneSpelling(text) {
  return text.replace(/ae|oe|ue|aa|dj|y/g, (spelling) => SPELLINGS[spelling]);
}

/** Whether folded names contain a folded word, which is looked for in other spellings if it is long enough. */
function holds(text, word) {
  const part = inOneSpelling(word);
  return text.includes(word) || (part.length > 2 && inOneSpelling(text).includes(part));
}

/** The competition of a row as a key of filters: `football/17`. */
export function competitionKey(sport, match) {
  return `${sport}/${match.competition?.id ?? nameOf(match.competition)}`;
}

function isShown(sport, match, { status, competition, words }) {
  if (status && stateOf(sport, match) !== status) return false;
  if (competition && competitionKey(sport, match) !== competition) return false;
  if (words.length === 0) return true;
  const text = folded([...namesOf(sport, match), nameOf(match.competition), match.course ?? "", SPORTS[sport].title].join(" "));
  return words.every((word) => holds(text, word));
}

/**
 * The groups to show: favourites first, then a group for each competition, those in play first. `boards`: the documents of
 * the boards by sport. A group is `{key, sport, title, live, rows}`, a row `{key, sport, id, match}`.
 */
export function arrange(boards, filters, favourites) {
  const wanted = { ...filters, words: folded(filters.search).split(/\s+/).filter(Boolean) };
  const pinned = { key: "favourites", title: "Favourites", live: 0, rows: [] };
  const groups = [];
  for (const sport of Object.keys(SPORTS)) {
    if (filters.sport && filters.sport !== sport) continue;
    const bySport = new Map();
    for (const [id, match] of inOrder(sport, boards[sport]?.matches)) {
      if (!isShown(sport, match, wanted)) continue;
      const row = { key: `${sport}/${id}`, sport, id, match };
      const group = favourites.has(row.key) ? pinned : groupOf(bySport, sport, match);
      group.rows.push(row);
      if (isLive(sport, match)) group.live += 1;
    }
    // Each group is in order already, and so are the groups by their first rows.
    groups.push(...bySport.values());
  }
  return pinned.rows.length > 0 ? [pinned, ...groups] : groups;
}

function groupOf(groups, sport, match) {
  const key = competitionKey(sport, match);
  if (!groups.has(key)) groups.set(key, { key, sport, title: nameOf(match.competition) || SPORTS[sport].title, live: 0, rows: [] });
  return groups.get(key);
}

/** The competitions of a sport, or of all: pairs of key and name, by name. */
export function competitions(boards, sport) {
  const found = new Map();
  for (const [name, board] of Object.entries(boards)) {
    if (sport && sport !== name) continue;
    for (const match of Object.values(board?.matches ?? {})) {
      if (match.competition) found.set(competitionKey(name, match), `${nameOf(match.competition)}${sport ? "" : ` (${SPORTS[name].title})`}`);
    }
  }
  return [...found].sort((a, b) => a[1].localeCompare(b[1]));
}

/** How many matches of each sport, and how many of them are in play: `{live, all}`. */
export function counts(sport, board) {
  const matches = Object.values(board?.matches ?? {});
  return { live: matches.filter((match) => isLive(sport, match)).length, all: matches.length };
}

/**
 * The rows whose score differs from that of the board before, with the sides that changed: `{key, sport, match, sides}`. Unchanged rows
 * are the same objects in both. Games within a set count, points of a game do not: they never stop.
 */
export function scoreChanges(sport, before, after) {
  if (before === undefined || after === undefined || before.matches === after.matches) return [];
  const changes = [];
  for (const [id, match] of Object.entries(after.matches ?? {})) {
    const old = before.matches?.[id];
    if (old === undefined || old === match) continue;
    const [was, is] = [scoreOf(sport, old), scoreOf(sport, match)];
    if (was === undefined || is === undefined) continue;
    // A set that begins changes the number of parts; who won the one before shows in the total.
    const isSamePart = was[0].parts.length === is[0].parts.length;
    const isChanged = (i) => was[i].total !== is[i].total || (isSamePart && was[i].parts.at(-1) !== is[i].parts.at(-1));
    const sides = [0, 1].filter(isChanged);
    if (sides.length > 0) changes.push({ key: `${sport}/${id}`, sport, match, sides });
  }
  return changes;
}

/** One sentence for screen readers about many changes; the newest of a match counts. */
export function summary(changes) {
  const latest = [...new Map(changes.map((change) => [change.key, change])).values()];
  const spoken = latest.slice(0, SPOKEN_MAX).map(({ sport, match }) => `${pairing(sport, match).replace(" – ", " against ")}: ${scoreText(sport, match)}`);
  const more = latest.length - spoken.length;
  if (more > 0) spoken.push(`${more} more score ${more === 1 ? "change" : "changes"}`);
  return spoken.length > 0 ? `${spoken.join(". ")}.` : "";
}

/** The keys of favourite matches, kept in `storage`. A storage that is full or forbidden costs only the memory of them. */
export class Favourites {
  #storage;
  #slot;
  #keys = new Set();

  constructor(storage, slot = "matchwire-favourites") {
    this.#storage = storage;
    this.#slot = slot;
    this.read();
  }

  /** Takes over what another tab has stored. */
  read() {
    try {
      const stored = JSON.parse(this.#storage?.getItem(this.#slot) ?? "[]");
      const known = Array.isArray(stored) ? stored.filter((key) => typeof key === "string" && /^[a-z]+\/\d+$/.test(key)) : [];
      this.#keys = new Set(known.slice(-FAVOURITES_MAX));
    } catch {
      this.#keys = new Set();
    }
  }

  has(key) {
    return this.#keys.has(key);
  }

  get size() {
    return this.#keys.size;
  }

  /** Adds or removes a match; returns whether it is one now. */
  toggle(key) {
    const isNew = !this.#keys.delete(key);
    if (isNew) this.#keys.add(key);
    if (this.#keys.size > FAVOURITES_MAX) this.#keys.delete(this.#keys.values().next().value);
    try {
      this.#storage?.setItem(this.#slot, JSON.stringify([...this.#keys]));
    } catch {
      // It stays for as long as the page is open.
    }
    return isNew;
  }
}
