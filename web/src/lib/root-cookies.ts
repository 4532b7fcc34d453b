// Session cookies at the root of a host that the project shares with others.
//
// Earlier versions wrote them there, where browsers send them to every project of the host. They would
// also survive a sign-out, which removes those at the project's own path.

type CookieJar = Pick<Document, "cookie">;

/** Removes the session's cookies at `/`, unless that is where they belong. */
export function removeRootCookies(jar: CookieJar, key: string, path: string): void {
  if (path === "/" || !key) return;
  for (const cookie of jar.cookie.split(";")) {
    const name = cookie.split("=", 1)[0]?.trim() ?? "";
    if (name === key || name.startsWith(`${key}.`) || name.startsWith(`${key}-`)) {
      jar.cookie = `${name}=; Max-Age=0; Path=/; SameSite=Lax`;
    }
  }
}
