// Where to go when the session ends by what somebody did on these pages; otherwise it ended by itself.

let destination: string | null = null;

/** Before the call that ends the session. */
export const leaveTo = (path: string) => {
  destination = path;
};

export function takeDestination(): string | null {
  const path = destination;
  destination = null;
  return path;
}
