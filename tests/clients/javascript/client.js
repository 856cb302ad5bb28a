// The REST client: one key, one base URL, answers with their status, headers and body.

/** Far more than any answer takes, so that a hub that hangs is a failure and no endless wait. */
const ANSWER_MS_MAX = 30_000;
/** No list of a demo is longer; a `next` that never ends is a failure. */
const PAGES_MAX = 400;
/** How many 429s a client gets before it gives up. */
const TRIES_MAX = 10;

export class Client {
  constructor(base, key) {
    this.base = base.replace(/\/$/, "");
    this.key = key;
  }

  /** Another client of the same hub. */
  with(key) {
    return new Client(this.base, key);
  }

  /** Sends a request, and repeats it after the delay that a 429 names; `target` is a path or an absolute URL. */
  async ask(target, request = {}) {
    for (let tries = 1; ; tries += 1) {
      const answer = await this.askOnce(target, request);
      const seconds = Number(answer.headers.get("retry-after"));
      if (answer.status !== 429 || !(seconds > 0 && seconds < 5) || tries === TRIES_MAX) return answer;
      await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    }
  }

  /** Sends one request and follows no redirect. */
  async askOnce(target, { query = {}, headers = {}, method = "GET", key = this.key } = {}) {
    const url = new URL(target, this.base);
    for (const [name, value] of Object.entries(query)) url.searchParams.append(name, value);
    const auth = key ? { authorization: `Token ${key}` } : {};
    const response = await fetch(url, {
      method,
      headers: { ...auth, ...headers },
      redirect: "manual",
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    });
    return new Answer(response, await response.arrayBuffer());
  }

  /** The JSON body of an answer that must be 200. */
  async get(path, query = {}) {
    const answer = await this.ask(path, { query });
    if (answer.status !== 200) throw new Error(`${path} ${JSON.stringify(query)}: ${answer.status} ${answer.text}`);
    return answer.json;
  }

  /** Every page of a list, from the first through each `next`; the rows are those of all pages. */
  async pages(path, query = {}) {
    const pages = [await this.get(path, query)];
    while (pages.at(-1).next) {
      if (pages.length === PAGES_MAX) throw new Error(`${path}: more than ${PAGES_MAX} pages`);
      pages.push(await this.get(pages.at(-1).next));
    }
    return pages;
  }

  /** All rows of a list. */
  async rows(path, query = {}) {
    return (await this.pages(path, query)).flatMap((page) => page.results);
  }
}

class Answer {
  constructor(response, bytes) {
    this.status = response.status;
    this.headers = response.headers;
    this.type = (response.headers.get("content-type") ?? "").split(";")[0];
    this.bytes = new Uint8Array(bytes);
  }

  get text() {
    return new TextDecoder().decode(this.bytes);
  }

  /** The body as JSON; undefined if it is not JSON, which no shape accepts. */
  get json() {
    try {
      return JSON.parse(this.text);
    } catch {
      return undefined;
    }
  }
}

/** Polls until a condition holds, with a limit. */
export async function until(holds, { seconds = 90, every = 500 } = {}) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const value = await holds();
    if (value || Date.now() > end) return value;
    await new Promise((resolve) => setTimeout(resolve, every));
  }
}
