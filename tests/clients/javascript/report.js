// One line per check, and the sum at the end. A failed check shows what was expected and what arrived.

export class Report {
  passed = 0;
  failed = 0;
  skipped = 0;

  /** Reports the outcome of one check: `wrong` describes the fault, or is empty. */
  check(name, wrong) {
    if (wrong) {
      this.failed += 1;
      console.log(`FAILED: ${name}: ${wrong}`);
    } else {
      this.passed += 1;
      console.log(`ok: ${name}`);
    }
    return !wrong;
  }

  /** Reports that a check could not be made, and why. */
  skip(name, reason) {
    this.skipped += 1;
    console.log(`skipped: ${name}: ${reason}`);
  }

  /** Compares two JSON values. */
  equal(name, came, expected) {
    return this.check(name, differs(came, expected));
  }

  /** Reports whether a condition holds; shows `came` if it does not. */
  that(name, holds, expected, came) {
    return this.check(name, holds ? "" : `expected ${brief(expected)}, came ${brief(came)}`);
  }

  /** Runs a chapter: one that throws is one failure, and the next runs. */
  async chapter(name, walk) {
    try {
      await walk();
    } catch (error) {
      this.check(name, `broke off: ${error.stack}`);
    }
  }

  /** Prints the sum and gives the exit code. */
  finish() {
    console.log(`${this.passed} passed, ${this.failed} failed, ${this.skipped} skipped`);
    return this.failed ? 1 : 0;
  }
}

/** Describes how two JSON values differ; the order of an object's keys does not matter. */
export function differs(came, expected) {
  return canonical(came) === canonical(expected) ? "" : `expected ${brief(expected)}, came ${brief(came)}`;
}

/** The members of two objects that differ, as `[came, expected]`. */
export function changed(came, expected) {
  const names = [...new Set([...Object.keys(came), ...Object.keys(expected)])].filter((name) => differs(came[name], expected[name]));
  return Object.fromEntries(names.map((name) => [name, [came[name], expected[name]]]));
}

/** A value as short text. */
export function brief(value) {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "nothing";
  return text.length > 400 ? `${text.slice(0, 400)}…` : text;
}

function canonical(value) {
  return JSON.stringify(value, (_, part) =>
    part && typeof part === "object" && !Array.isArray(part)
      ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)))
      : part,
  );
}
