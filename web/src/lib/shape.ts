// Shapes of JSON that comes from elsewhere: checked where it comes in, so that a server of another version fails
// with a name, and not somewhere in a component. Members that nobody asked for are left out.

/** Reads a value, or throws a `ShapeError` that names its place. */
export type Shape<T> = (value: unknown, place?: string) => T;

export type Infer<S> = S extends Shape<infer T> ? T : never;

export class ShapeError extends Error {}

const describe = (value: unknown) =>
  value === null ? "null" : Array.isArray(value) ? "a list" : value === undefined ? "missing" : typeof value;

function fail(place: string, wanted: string, value: unknown): never {
  throw new ShapeError(`${place || "answer"}: expected ${wanted}, got ${describe(value)}`);
}

export const unknown: Shape<unknown> = (value) => value;

export const string: Shape<string> = (value, place = "") =>
  typeof value === "string" ? value : fail(place, "a text", value);

export const number: Shape<number> = (value, place = "") =>
  typeof value === "number" ? value : fail(place, "a number", value);

export const boolean: Shape<boolean> = (value, place = "") =>
  typeof value === "boolean" ? value : fail(place, "true or false", value);

/** One of some texts. */
export const oneOf =
  <const T extends string>(...texts: readonly T[]): Shape<T> =>
  (value, place = "") =>
    texts.find((text) => text === value) ?? fail(place, texts.join(" or "), value);

/** A text that an expression matches. */
export const matching =
  (pattern: RegExp): Shape<string> =>
  (value, place = "") =>
    typeof value === "string" && pattern.test(value) ? value : fail(place, String(pattern), value);

/** `null` if it is absent. */
export const maybe =
  <T>(shape: Shape<T>): Shape<T | null> =>
  (value, place) =>
    value === undefined || value === null ? null : shape(value, place);

/** Something else if it is absent. */
export const withDefault =
  <T>(shape: Shape<T>, fallback: T): Shape<T> =>
  (value, place) =>
    value === undefined || value === null ? fallback : shape(value, place);

/** Something else if it is absent or wrong, for what is stored in browsers. */
export const otherwise =
  <T>(shape: Shape<T>, fallback: T): Shape<T> =>
  (value, place) => {
    try {
      return shape(value, place);
    } catch {
      return fallback;
    }
  };

export const array =
  <T>(shape: Shape<T>): Shape<T[]> =>
  (value, place = "") =>
    Array.isArray(value)
      ? value.map((item, index) => shape(item, `${place}[${index}]`))
      : fail(place, "a list", value);

type Members = Record<string, Shape<unknown>>;

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const member = (place: string, name: string) => (place ? `${place}.${name}` : name);

export const object =
  <M extends Members>(members: M): Shape<{ [K in keyof M]: Infer<M[K]> }> =>
  (value, place = "") => {
    if (!isObject(value)) return fail(place, "an object", value);
    const entries = Object.entries(members).map(([name, shape]) => [
      name,
      // What objects inherit is not in the JSON.
      shape(Object.hasOwn(value, name) ? value[name] : undefined, member(place, name)),
    ]);
    return Object.fromEntries(entries) as { [K in keyof M]: Infer<M[K]> };
  };

/** An object with any names. */
export const record =
  <T>(shape: Shape<T>): Shape<Record<string, T>> =>
  (value, place = "") => {
    if (!isObject(value)) return fail(place, "an object", value);
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, shape(item, member(place, name))]),
    );
  };
