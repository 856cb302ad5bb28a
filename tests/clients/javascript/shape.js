// Shapes of JSON: what fields a value has, and of which types.
//
// A shape is a function that describes what is wrong with a value, an object of shapes (each field is required,
// more fields may come), or a list of one shape. `differences` gives every field that is not as it should be.

/** Every difference between a value and a shape, as `path: what is wrong`. */
export function differences(value, shape, path = "") {
  if (typeof shape === "function") {
    return [shape(value, path)].flat().filter(Boolean).map((wrong) => (wrong.includes(": ") ? wrong : `${path || "value"}: ${wrong}`));
  }
  if (Array.isArray(shape)) {
    if (!Array.isArray(value)) return [`${path || "value"}: no list but ${kind(value)}`];
    return value.flatMap((item, at) => differences(item, shape[0], `${path}[${at}]`));
  }
  if (kind(value) !== "object") return [`${path || "value"}: no object but ${kind(value)}`];
  return Object.entries(shape).flatMap(([name, part]) => {
    const below = path ? `${path}.${name}` : name;
    if (name in value) return differences(value[name], part, below);
    return part.optional ? [] : [`${below}: is missing`];
  });
}

/** All rows against one shape: each kind of difference once, with how many rows have it. */
export function rowDifferences(rows, shape) {
  const counts = new Map();
  for (const row of rows) {
    const once = new Set(differences(row, shape).map((wrong) => wrong.replace(/\[\d+\]/g, "[]")));
    for (const wrong of once) counts.set(wrong, (counts.get(wrong) ?? 0) + 1);
  }
  return [...counts].map(([wrong, count]) => `${wrong} (${count} of ${rows.length})`).join("; ");
}

export const kind = (value) => (value === null ? "null" : Array.isArray(value) ? "list" : typeof value);

const typed = (name, holds) => (value) => (holds(value) ? "" : `no ${name} but ${JSON.stringify(value)?.slice(0, 80)}`);

export const text = typed("text", (v) => typeof v === "string");
export const filled = typed("filled text", (v) => typeof v === "string" && v !== "");
export const bool = typed("boolean", (v) => typeof v === "boolean");
export const number = typed("number", (v) => typeof v === "number");
export const int = typed("integer", Number.isSafeInteger);
export const count = typed("whole number", (v) => Number.isSafeInteger(v) && v >= 0);
export const share = typed("number from 0 to 1", (v) => typeof v === "number" && v >= 0 && v <= 1);
export const percent = typed("number from 0 to 100", (v) => typeof v === "number" && v >= 0 && v <= 100);
export const odds = typed("decimal odds", (v) => typeof v === "number" && v > 1);
export const nothing = typed("null", (v) => v === null);
export const any = () => "";

/** `2026-07-31T00:30:00+00:00`, as events write their times. */
export const offsetTime = typed("time …+00:00", (v) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00$/.test(v));
/** `2026-07-31T00:30:00Z`, as odds and predictions write theirs. */
export const zuluTime = typed("time …Z", (v) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(v));
/** An ISO time of any offset, as version 1 writes it in the requested zone. */
export const time = typed("ISO time", (v) => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(v));
export const date = typed("date", (v) => /^\d{4}-\d\d-\d\d$/.test(v));

export const oneOf = (...values) => typed(`one of ${values.join(", ")}`, (v) => values.includes(v));

/** The value, or `null`: not known. */
export const maybe = (shape) => (value, path) => (value === null ? "" : differences(value, shape, path));

/** The field need not be there. */
export const optional = (shape) => Object.assign((value, path) => differences(value, shape, path), { optional: true });

/** An object whose keys are data, with values of one shape. */
export const record = (shape) => (value, path) =>
  kind(value) === "object"
    ? Object.entries(value).flatMap(([key, part]) => differences(part, shape, `${path}{}`).map((wrong) => `${wrong} (key ${key})`))
    : `no object but ${kind(value)}`;

/** A list of at most so many. */
export const atMost = (most, shape) => (value, path) => [
  ...(Array.isArray(value) && value.length > most ? [`${path}: ${value.length} items, more than ${most}`] : []),
  ...differences(value, [shape], path),
];
