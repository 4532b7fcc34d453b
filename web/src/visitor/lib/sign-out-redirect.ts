// The redirect after a sign-out by the user. Without one, the session is treated as expired.

let redirect: string | null = null;

/** Call it before the request that ends the session. */
export const setSignOutRedirect = (path: string) => {
  redirect = path;
};

export function takeSignOutRedirect(): string | null {
  const path = redirect;
  redirect = null;
  return path;
}
