// The socket client, in the form a browser has it: frames are stored in order, and awaited by their content.

const { WebSocket } = globalThis.WebSocket ? globalThis : await import("ws");

/** Far more than an answer takes, and more than twice the 30 s after which `event` and `odds` come again. */
const WAIT_MS_MAX = 75_000;

export class Socket {
  frames = [];
  waiting = new Set();

  constructor(url, protocols) {
    this.socket = new WebSocket(url, protocols);
    this.socket.binaryType = "arraybuffer";
    this.opened = new Promise((resolve) => {
      this.socket.addEventListener("open", () => resolve(true));
      this.socket.addEventListener("close", () => resolve(false));
    });
    this.closed = new Promise((resolve) => this.socket.addEventListener("close", ({ code }) => resolve(code)));
    this.socket.addEventListener("error", () => {});
    this.socket.addEventListener("message", ({ data }) => this.take(data));
    this.closed.then((code) => this.end(new Error(`the socket closed with ${code}`)));
  }

  /** Opens a socket of a hub with the key as a subprotocol, as a page would. */
  static async open(base, path, key) {
    const socket = new Socket(`${base.replace(/^http/, "ws")}${path}`, ["token", key]);
    await socket.opened;
    return socket;
  }

  take(data) {
    const frame = { ...JSON.parse(data), at: Date.now() };
    this.frames.push(frame);
    for (const wait of this.waiting) if (wait.holds(frame)) wait.resolve(frame);
  }

  end(error) {
    this.error = error;
    for (const wait of this.waiting) wait.reject(error);
  }

  send(command) {
    this.socket.send(typeof command === "string" || command instanceof Uint8Array ? command : JSON.stringify(command));
  }

  /** The next frame, of those that come from now on, for which `holds`. */
  next(holds) {
    if (this.error) return Promise.reject(this.error);
    return new Promise((resolve, reject) => {
      const wait = { holds };
      const settle = (then) => (value) => {
        clearTimeout(timer);
        this.waiting.delete(wait);
        then(value);
      };
      const timer = setTimeout(() => wait.reject(new Error(`no frame for ${holds} in ${WAIT_MS_MAX / 1000} s`)), WAIT_MS_MAX);
      Object.assign(wait, { resolve: settle(resolve), reject: settle(reject) });
      this.waiting.add(wait);
    });
  }

  /** Sends a command and waits for the answer to it. */
  ask(command, holds) {
    const answer = this.next(holds);
    this.send(command);
    return answer;
  }

  /** Subscribes; the answer is `subscribed` or `error`. */
  subscribe(id, more = {}) {
    const answer = ({ type, event_id: about }) => ["subscribed", "error"].includes(type) && (about ?? id) === id;
    return this.ask({ action: "subscribe", event_id: id, ...more }, answer);
  }

  unsubscribe(id, more = {}) {
    return this.ask({ action: "unsubscribe", event_id: id, ...more }, (frame) => frame.type === "unsubscribed" && frame.event_id === id);
  }

  ping() {
    return this.ask({ action: "ping" }, (frame) => frame.type === "pong");
  }

  close() {
    this.socket.close();
    return this.closed;
  }
}
