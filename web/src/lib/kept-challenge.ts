// The challenge that a text message belongs to. A page that is loaded again may not send another message
// at once, and the code of the first one is good only with its challenge.

const key = "plinth-challenge";

export const keepChallenge = (factorId: string, challengeId: string) =>
  sessionStorage.setItem(key, `${factorId} ${challengeId}`);

export function keptChallenge(factorId: string): string | null {
  const [factor, challenge] = (sessionStorage.getItem(key) ?? "").split(" ");
  return factor === factorId && challenge ? challenge : null;
}
