// Refreshes the live figures while the page is visible. Without this module the page shows the figures at
// load time.

const EVERY_MS = 2000;

const state = document.getElementById("state");
const number = new Intl.NumberFormat("en");
const rate = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

const SHOWN = {
  count: (value) => number.format(value),
  rate: (value) => (value === null ? "–" : `${rate.format(value)} /s`),
  ms: (value) => (value === null ? "–" : `${rate.format(value)} ms`),
  bytes: (value) => (value === null ? "–" : `${rate.format(value / 1048576)} MiB`),
  text: (value) => value,
};

function ago(ms) {
  if (ms === null) return "–";
  return ms < 10_000 ? `${rate.format(ms / 1000)} s` : `${number.format(Math.round(ms / 1000))} s`;
}

function row(...cells) {
  const line = document.createElement("tr");
  line.append(...cells);
  return line;
}

function cell(tag, value, kind) {
  const place = document.createElement(tag);
  if (tag === "th") place.scope = "row";
  if (kind) place.className = kind;
  place.append(value);
  return place;
}

function none(columns) {
  const place = cell("td", "None.", "soft");
  place.colSpan = columns;
  return row(place);
}

function chip(text, tone) {
  return cell("span", text, `chip ${tone}`);
}

function showFeeds(feeds) {
  const lines = feeds.map((feed) => row(
    cell("th", feed.name), cell("td", feed.kind), cell("td", chip(feed.state, feed.tone)), cell("td", feed.why),
    cell("td", ago(feed.last_ms_ago), "number"), cell("td", number.format(feed.messages), "number"),
    cell("td", number.format(feed.refused), "number")));
  document.getElementById("feeds").replaceChildren(...(lines.length ? lines : [none(7)]));
}

const NODE_TONES = { behind: "bad", drained: "warn" };

function showCluster({ nodes, stream }) {
  const place = document.getElementById("stream");
  if (place) place.textContent = stream;
  const lines = nodes.map((node) => row(
    cell("th", node.name), cell("td", node.role), cell("td", chip(node.state, NODE_TONES[node.state] ?? "live")),
    cell("td", `${number.format(node.lag_ms)} ms`, "number"), cell("td", number.format(node.sockets), "number"),
    cell("td", number.format(node.record), "number"), cell("td", node.version)));
  document.getElementById("nodes")?.replaceChildren(...(lines.length ? lines : [none(7)]));
}

function showCounts(name, counts) {
  const lines = counts.map(([what, count]) => row(cell("th", what), cell("td", number.format(count), "number")));
  document.getElementById(name)?.replaceChildren(...(lines.length ? lines : [none(2)]));
}

function show(figures) {
  for (const [name, kind, value] of figures.tiles) {
    const place = document.querySelector(`[data-figure="${name}"]`);
    if (place) place.textContent = SHOWN[kind](value);
  }
  showFeeds(figures.feeds);
  if (figures.cluster) showCluster(figures.cluster);
  for (const [name, counts] of Object.entries(figures.tables)) showCounts(name, counts);
  delete state.dataset.stale;
  state.textContent = `As of ${new Date(figures.at / 1000).toLocaleTimeString()}. Updates every ${EVERY_MS / 1000} seconds.`;
}

async function turn() {
  try {
    const answer = await fetch("/admin/figures.json", { cache: "no-store" });
    if (answer.status === 401) return location.reload();
    if (!answer.ok) throw new Error(`status ${answer.status}`);
    show(await answer.json());
  } catch (error) {
    state.dataset.stale = "";
    state.textContent = `The hub is not responding (${error.message}). These figures are out of date.`;
  }
  setTimeout(again, EVERY_MS);
}

// A hidden tab fetches nothing.
function again() {
  if (document.hidden) document.addEventListener("visibilitychange", again, { once: true });
  else turn();
}

setTimeout(again, EVERY_MS);
