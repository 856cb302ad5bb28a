// What the pages for traders share: a hub for the page's connection, and drawing once a frame. A page gives
// `open(options)`, which connects with these options and returns the hub.

import { Announcer, Connection } from "./connection.js";

const TICK_MS = 250;

export class Desk {
  #open;
  #draw;
  #tick;
  #hub;
  #isDue = false;
  #announcer = new Announcer();
  #connection = new Connection((credential) => this.#connect(credential), this.#announcer);

  /** `draw` runs before a frame of the screen after `redraw`, `tick` four times a second, both with a hub only. */
  constructor({ open, draw, tick }) {
    this.#open = open;
    this.#draw = draw;
    this.#tick = tick;
    setInterval(() => this.#onTick(), TICK_MS);
  }

  /** Connects with what the page has, or asks for a key. */
  start() {
    this.#connection.start();
  }

  /** For screen readers. */
  say(text) {
    this.#announcer.say(text);
  }

  redraw() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      if (this.#hub) this.#draw();
    });
  }

  #connect(credential) {
    this.#hub?.close();
    const onState = (state) => {
      this.#connection.entered(state);
      this.redraw();
    };
    this.#hub = this.#open({ ...credential, onState });
    this.redraw();
    return this.#hub;
  }

  #onTick() {
    if (this.#hub === undefined) return;
    this.#connection.tick(this.#hub.stream);
    this.#tick();
  }
}
