// The exchange between a client and the older sockets: SERVICE.md 5.1, 5.2, 5.4, errors and closes.

import { differences } from "./shape.js";
import { football, tennisFrames, error } from "./shapes/frames.js";
import { Socket } from "./sockets.js";

const PATHS = ["/live/football/", "/ws/live/"];

export async function conversation(walker) {
  const { report } = walker;
  for (const path of PATHS) {
    await report.chapter(`${path}: who may come in`, () => door(walker, path));
    await report.chapter(`${path}: bad commands`, () => badCommands(walker, path));
  }
  for (const path of ["/live/nothing/", "/ws/nothing/"]) await closed(walker, path, ["token", walker.keys.full], 4404, "an unknown path");
  await report.chapter("sockets: bookmakers", () => bookmakers(walker));
  await report.chapter("sockets: tennis", () => tennis(walker));
  await report.chapter("sockets: ten matches and one more", () => eleven(walker));
  await report.chapter("sockets: unsubscribe", () => unsubscribe(walker));
  await report.chapter("sockets: after a reconnect", () => reconnect(walker));
}

const url = ({ client }, path) => `${client.base.replace(/^http/, "ws")}${path}`;

async function door(walker, path) {
  const { report, keys } = walker;
  for (const [how, address, protocols] of [
    ["the key in the query", `${path}?token=${keys.full}`, undefined],
    ["the key as a subprotocol", path, ["token", keys.full]],
    ["no slash at the end", path.slice(0, -1), ["token", keys.full]],
  ]) {
    const socket = new Socket(url(walker, address), protocols);
    report.that(`${path} opens with ${how}`, await socket.opened, "open", "closed");
    report.equal(`${path} with ${how} selects no key`, socket.socket.protocol, protocols ? "token" : "");
    report.equal(`${path} with ${how}: a ping is answered`, (await socket.ping()).type, "pong");
    await socket.close();
  }
  await closed(walker, path, undefined, 4401, "no key");
  await closed(walker, path, ["token", "mw_0123456789"], 4401, "a wrong key");
  await closed(walker, `${path}?token=wrong`, undefined, 4401, "a wrong key in the query");
  await closed(walker, path, ["token", keys.free], 4402, "a key without the add-on");
}

/** A socket that is refused: an error frame may come, and the close code gives the reason. */
async function closed(walker, path, protocols, code, why) {
  const socket = new Socket(url(walker, path), protocols);
  const name = `${path} closes with ${code} for ${why}`;
  walker.report.equal(name, await socket.closed, code);
  walker.report.check(`${name}: the frame before`, socket.frames.flatMap((frame) => differences(frame, error)).join("; "));
}

async function badCommands(walker, path) {
  const { report, client, keys } = walker;
  const socket = await Socket.open(client.base, path, keys.full);
  const refused = async (why, command, code, message) => {
    const frame = await socket.ask(command, ({ type }) => type === "error");
    const wrong = differences(frame, error).join("; ") || (code && frame.code !== code ? `expected ${code}, came ${JSON.stringify(frame)}` : "");
    report.check(`${path}: ${why} gets ${code ?? "an error"}`, wrong);
    if (message) report.equal(`${path}: the message for ${why}`, frame.message, message);
  };
  await refused("no JSON", "{", "bad_action");
  await refused("a bare text", '"ping"', "bad_action");
  await refused("a list", "[]", "bad_action");
  await refused("no action", {}, "bad_action", "Unknown action: None");
  await refused("an unknown action", { action: "dance" }, "bad_action", "Unknown action: dance");
  await refused("a binary message", new Uint8Array([1, 2, 3]), "bad_action");
  await refused("a subscribe to nothing", { action: "subscribe" }, "bad_event_id");
  await refused("a subscribe to a word", { action: "subscribe", event_id: "abc" }, "bad_event_id");
  await refused("a subscribe to null", { action: "subscribe", event_id: null }, "bad_event_id");
  await refused("a subscribe to a fraction", { action: "subscribe", event_id: 1.5 }, "bad_event_id");
  await refused("an unsubscribe from nothing", { action: "unsubscribe" }, "bad_event_id");
  await refused("a match that is none", { action: "subscribe", event_id: 900001 }, "not_tracked", "No live tracking for event 900001");
  report.equal(`${path}: the socket stays`, (await socket.ping()).type, "pong");
  report.that(`${path}: no unrequested frames`, socket.frames.every(({ type }) => ["error", "pong"].includes(type)), "errors and pongs", socket.frames.map(({ type }) => type));
  await socket.close();
}

/** The football match in play that has been played for the shortest time: it will not end during the test. */
export async function playing(client) {
  const { events } = await client.get("/api/v2/events/live/");
  return events.filter((row) => row.live_websocket && row.status === "inprogress").sort((a, b) => (a.event_date < b.event_date ? 1 : -1));
}

/** Matches to come and in play that can be followed. */
async function tracked(client) {
  const toCome = await client.rows("/api/v2/events/", { status: "notstarted", limit: 200 });
  return [...(await playing(client)), ...toCome.filter((row) => row.live_websocket)].map((row) => row.id);
}

async function bookmakers(walker) {
  const { report, client, keys } = walker;
  const [match] = await playing(client);
  const socket = await Socket.open(client.base, "/live/football/", keys.full);
  const unknown = await socket.subscribe(match.id, { bookmaker_slug: "no-such-house" });
  report.equal("an unknown bookmaker gets unknown_bookmaker", [unknown.type, unknown.code], ["error", "unknown_bookmaker"]);
  const [{ slug }] = (await client.get("/api/v2/bookmakers/")).results;
  const { odds_book: book, ...subscribed } = await socket.subscribe(match.id, { bookmaker_slug: slug });
  report.equal("subscribed has the prices of the requested bookmaker", [book?.type, book?.bookmaker_slug, book?.bookmaker], ["odds_book", slug, slug]);
  report.check("subscribed with a bookmaker", differences({ ...subscribed, odds_book: book }, football.subscribed).join("; "));
  const frame = await socket.next(({ type }) => type === "odds_book");
  report.check("an odds_book frame", differences(frame, football.odds_book).join("; "));
  report.equal("an odds_book frame is of the requested bookmaker", [frame.event_id, frame.bookmaker_slug, frame.bookmaker], [match.id, slug, slug]);
  await socket.close();
}

async function tennis(walker) {
  const { report, client, keys } = walker;
  const [match] = await client.get("/tennis/api/v2/matches/live/");
  const narrow = await Socket.open(client.base, "/live/football/", keys.full);
  report.equal("/live/football/ has no tennis", (await narrow.subscribe(match.id, { sport: "tennis" })).type, "error");
  await narrow.close();
  const socket = await Socket.open(client.base, "/ws/live/", keys.full);
  report.equal("/ws/live/ is of football where no sport is said", (await socket.subscribe(match.id)).code, "not_tracked");
  const subscribed = await socket.subscribe(match.id, { sport: "tennis" });
  report.check("subscribed of tennis", differences(subscribed, tennisFrames.subscribed).join("; "));
  report.equal("subscribed of tennis is of the requested match", [subscribed.event?.home.id, subscribed.event?.away.id], [match.player1.id, match.player2.id]);
  const [other] = await playing(client);
  report.equal("football and tennis mix on one socket", (await socket.subscribe(other.id)).type, "subscribed");
  const gone = await socket.unsubscribe(match.id, { sport: "tennis" });
  report.equal("tennis is unsubscribed with its sport", gone.event_id, match.id);
  await socket.close();
}

async function eleven(walker) {
  const { report, client, keys } = walker;
  const football = await tracked(client);
  const live = (await client.get("/tennis/api/v2/matches/live/")).map((row) => row.id);
  const matches = [...live.map((id) => [id, { sport: "tennis" }]), ...football.map((id) => [id, {}])].slice(0, 11);
  const socket = await Socket.open(client.base, "/ws/live/", keys.full);
  const answers = [];
  for (const [id, more] of matches) answers.push(await socket.subscribe(id, more));
  report.equal("ten matches are subscribed on one socket, and the eleventh is not", answers.map(({ type }) => type), [...Array(10).fill("subscribed"), "error"]);
  report.equal("the eleventh gets limit", [answers.at(-1).code, answers.at(-1).event_id], ["limit", matches.at(-1)?.[0]]);
  report.equal("the socket stays", (await socket.ping()).type, "pong");
  const [id, more] = matches[0];
  await socket.unsubscribe(id, more);
  report.equal("one that is given up makes room", (await socket.subscribe(...matches.at(-1))).type, "subscribed");
  await socket.close();
}

/** After `unsubscribed` no frames of the match arrive, while another match continues. */
async function unsubscribe(walker) {
  const { report, client, keys } = walker;
  const [first, second] = (await playing(client)).map((row) => row.id);
  const socket = await Socket.open(client.base, "/live/football/", keys.full);
  await socket.subscribe(first);
  await socket.subscribe(second);
  await socket.next((frame) => frame.event_id === first);
  await socket.unsubscribe(first);
  const from = socket.frames.length;
  for (let frames = 0; frames < 4; frames += 1) await socket.next((frame) => frame.event_id === second);
  const late = socket.frames.slice(from).find((frame) => frame.event_id === first);
  report.that("nothing comes of a match that was unsubscribed", !late, "nothing", late);
  const again = await socket.ask({ action: "unsubscribe", event_id: first }, (frame) => ["unsubscribed", "error"].includes(frame.type));
  report.that("to unsubscribe twice is answered", again.event_id === first, first, again);
  await socket.close();
  const fresh = await Socket.open(client.base, "/live/football/", keys.full);
  await fresh.ping();
  report.that("subscriptions do not survive a reconnect", fresh.frames.every(({ type }) => type === "pong"), "a pong alone", fresh.frames);
  await fresh.close();
}

/** Our addition: `from` brings the missed frames, each once. */
async function reconnect(walker) {
  const { report, client, keys } = walker;
  const [{ id }] = await playing(client);
  const witness = await Socket.open(client.base, "/live/football/", keys.full);
  await witness.subscribe(id);
  const lost = await Socket.open(client.base, "/live/football/", keys.full);
  await lost.subscribe(id);
  const last = await lost.next((frame) => frame.event_id === id);
  await lost.close();
  for (let frames = 0; frames < 3; frames += 1) await witness.next((frame) => frame.event_id === id && frame.seq > last.seq);
  const back = await Socket.open(client.base, "/live/football/", keys.full);
  const subscribed = await back.subscribe(id, { from: { epoch: last.epoch, seq: last.seq } });
  report.equal("a reconnect with from is resumed", [subscribed.resumed, subscribed.epoch, subscribed.seq], [true, last.epoch, last.seq]);
  report.that("what is resumed has no snapshot", !("event" in subscribed) && !("odds" in subscribed), "no event, no odds", subscribed);
  const missed = (frame) => frame.event_id === id && !["subscribed", "unsubscribed"].includes(frame.type) && frame.seq > last.seq;
  const seen = (socket) => socket.frames.filter(missed);
  const end = await back.next((frame) => frame.event_id === id && frame.seq >= last.seq + 4);
  const numbers = seen(back).map((frame) => frame.seq).filter((seq) => seq <= end.seq);
  report.equal("nothing is missing after a reconnect, nothing comes twice", numbers, numbers.map((_, at) => last.seq + 1 + at));
  const plain = ({ at, ...frame }) => frame;
  if (!seen(witness).some((frame) => frame.seq === end.seq)) await witness.next((frame) => frame.event_id === id && frame.seq >= end.seq);
  const other = new Map(seen(witness).map((frame) => [frame.seq, plain(frame)]));
  const same = seen(back).filter((frame) => other.has(frame.seq));
  report.equal("what was missed is what the other socket had", same.map(plain), same.map((frame) => other.get(frame.seq)));
  for (const [what, from] of [
    ["of another epoch", { epoch: "other", seq: 1 }],
    ["of a number to come", { epoch: last.epoch, seq: end.seq + 100_000 }],
    ["of a bare number", 5],
  ]) {
    const again = await back.subscribe(id, { from });
    report.that(`a from ${what} brings a snapshot`, again.resumed === false && "event" in again, "a snapshot", again.why);
  }
  await Promise.all([back.close(), witness.close()]);
}
