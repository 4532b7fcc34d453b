// The `next` query parameter: where to go after signing in, and back to from the account (client contract
// A34). A path of this origin and project, or a URL that the server has found on the project's allow list.
// `redirect_to`, as the auth service calls it, is the same.

const maxLength = 2048;
// Control characters, and backslashes, which browsers treat as slashes.
// oxlint-disable-next-line no-control-regex
const forbidden = /[\u0000-\u001f\u007f-\u009f\\]/;

/** The part of a host that belongs to one project, and what the server allows beyond it. */
export type ProjectScope = {
  /** The project's path; "/" if it has all of the host that no other project has. */
  cookiePath: string;
  /** Paths of the host that belong to other projects. */
  otherProjects: string[];
  /** The `next` of this page that leads to another origin, as it was asked for and as it is opened. */
  next: { asked: string; url: string } | null;
};

const wholeHost: ProjectScope = { cookiePath: "/", otherProjects: [], next: null };

/** `next` or `redirect_to`, not validated. */
export function getNext(search: string): string | null {
  const params = new URLSearchParams(search);
  return params.get("next") || params.get("redirect_to") || null;
}

/** Returns where `next` leads: a path of this origin and project, or an allowed URL, else `null`. */
export function validateNext(
  next: string | null | undefined,
  origin: string,
  scope: ProjectScope = wholeHost,
): string | null {
  if (!next || next.length > maxLength || forbidden.test(next)) return null;
  if (next.startsWith("/")) return validatePath(next, origin, scope);
  // An absolute URL of this origin is a path of it, also for the server's allow list: the host may be shared.
  const target = URL.canParse(next) ? new URL(next) : null;
  if (target?.origin === new URL(origin).origin) {
    return validatePath(target.pathname + target.search + target.hash, origin, scope);
  }
  return scope.next?.asked === next && /^https?:\/\//.test(scope.next.url) ? scope.next.url : null;
}

function validatePath(path: string, origin: string, scope: ProjectScope): string | null {
  if (!path.startsWith("/") || path.startsWith("//")) return null;
  try {
    const target = new URL(path, origin);
    return target.origin === new URL(origin).origin && isInScope(target.pathname, scope) ? path : null;
  } catch {
    return null;
  }
}

/**
 * `encodedPath` is the one that the browser will request, without dot segments. A proxy may decode it, drop
 * parameters of segments, and resolve the dot segments that it finds then.
 */
function isInScope(encodedPath: string, { cookiePath, otherProjects }: ProjectScope): boolean {
  const path = decodeCompletely(encodedPath)
    .replace(/;[^/]*/g, "")
    .replace(/\/{2,}/g, "/");
  if (/\\|(^|\/)\.\.?(\/|$)/.test(path)) return false;
  const isAtOrBelow = (parent: string) => path === parent || path.startsWith(`${parent}/`);
  return cookiePath === "/" ? !otherProjects.some(isAtOrBelow) : isAtOrBelow(cookiePath);
}

/** Throws if it is not encoded as UTF-8. */
function decodeCompletely(text: string): string {
  const decoded = decodeURIComponent(text);
  return decoded === text ? text : decodeCompletely(decoded);
}

/** Copies `next` from the current query to a path. */
export function withNext(path: string, search: string): string {
  const next = getNext(search);
  if (!next) return path;
  const separator = path.includes("?") ? "&" : "?";
  return `${path}${separator}next=${encodeURIComponent(next)}`;
}

/** Whether a path of these pages has a `next` that only the server can check. */
export function hasForeignNext(path: string): boolean {
  const next = getNext(path.split("#", 1)[0]!.split("?").slice(1).join("?"));
  return next !== null && !next.startsWith("/");
}

/** The path relative to the mount, or `null` if it is outside. */
export function stripMount(path: string, mount: string): string | null {
  if (!path.startsWith("/")) return null;
  if (!mount) return path;
  if (path === mount) return "/";
  return path.startsWith(`${mount}/`) ? path.slice(mount.length) : null;
}
