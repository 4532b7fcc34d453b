// How somebody signed in last, remembered on this device only.

const key = "plinth-last-method";

export function rememberMethod(method: string) {
  try {
    localStorage.setItem(key, method);
  } catch {
    // Storage may be forbidden; then nothing is remembered.
  }
}

export function lastMethod(): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
