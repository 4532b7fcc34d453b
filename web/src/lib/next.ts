// Where people go after signing in (client contract A34): a path of this origin, nothing else.

const longest = 2048;
// Control characters never belong into a path, and browsers take a backslash for a slash.
// oxlint-disable-next-line no-control-regex
const forbidden = /[\u0000-\u001f\u007f-\u009f\\]/;

/** `next` if it leads nowhere else, otherwise nothing. */
export function checkedNext(next: string | null | undefined, origin: string): string | null {
  if (!next || next.length > longest || forbidden.test(next)) return null;
  if (!next.startsWith("/") || next.startsWith("//")) return null;
  try {
    return new URL(next, origin).origin === new URL(origin).origin ? next : null;
  } catch {
    return null;
  }
}

/** The same page with the query's `next` kept. */
export function keepNext(path: string, search: string): string {
  const next = new URLSearchParams(search).get("next");
  if (!next) return path;
  const joint = path.includes("?") ? "&" : "?";
  return `${path}${joint}next=${encodeURIComponent(next)}`;
}

/** The part of `path` below the mount, if it is one of our own pages. */
export function belowMount(path: string, mount: string): string | null {
  if (!mount) return path;
  if (path === mount) return "/";
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : null;
}
