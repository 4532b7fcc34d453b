// The method of the last sign-in on this device.

const storageKey = "plinth-last-method";

export function saveLastSignInMethod(method: string) {
  try {
    localStorage.setItem(storageKey, method);
  } catch {
    // Storage may be blocked.
  }
}

export function lastSignInMethod(): string | null {
  try {
    return localStorage.getItem(storageKey);
  } catch {
    return null;
  }
}
