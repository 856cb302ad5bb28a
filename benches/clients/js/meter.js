// What every client of this bench does with its updates, and what is measured of it.

const { BENCH_URL, BENCH_KEY, BENCH_CHANNELS, BENCH_UPDATES, BENCH_MARKET, BENCH_SELECTION } = process.env;

export const url = BENCH_URL;
export const key = BENCH_KEY;
/** The names of the channels. */
export const channels = BENCH_CHANNELS.split(",");
const updates = Number(BENCH_UPDATES);

/** Loads the modules of a client. */
export async function load(modules) {
  const before = process.memoryUsage.rss();
  const began = performance.now();
  const loaded = await Promise.all(modules());
  meter.import_ms = performance.now() - began;
  meter.import_kib = (process.memoryUsage.rss() - before) / 1024;
  return loaded;
}

/** The least that a program does to keep a document: applies a merge patch to it. */
export function merge(target, patch) {
  for (const key in patch) {
    const value = patch[key];
    if (value === null) delete target[key];
    else if (typeof value === "object" && !Array.isArray(value)) merge((target[key] ??= {}), value);
    else target[key] = value;
  }
  return target;
}

/** A program that follows all channels, and looks at one price after each update. */
export const meter = {
  seen: 0,
  price: undefined,

  connecting() {
    globalThis.gc?.();
    this.before_kib = process.memoryUsage.rss() / 1024;
    this.began = performance.now();
  },

  /** A channel's first document has come. */
  document() {
    if (this.first_ms === undefined) {
      this.first_ms = performance.now() - this.began;
      this.start = performance.now();
      this.cpu = process.cpuUsage();
    }
  },

  /** A document has changed, by so many changes. */
  update(document, changes = 1) {
    this.price = document.markets?.[BENCH_MARKET]?.selections?.[BENCH_SELECTION]?.price ?? null;
    this.seen += changes;
    if (this.seen === updates) this.end();
  },

  end() {
    const seconds = (performance.now() - this.start) / 1000;
    const { user, system } = process.cpuUsage(this.cpu);
    globalThis.gc?.();
    const report = {
      import_ms: this.import_ms,
      import_kib: this.import_kib,
      first_ms: this.first_ms,
      updates_s: this.seen / seconds,
      cpu_us: (user + system) / this.seen,
      run_kib: process.memoryUsage.rss() / 1024 - this.before_kib,
      price: this.price,
    };
    // Closing takes as long as it takes.
    process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
  },
};
