// The MFA challenge that the last text message belongs to. After a reload the send rate limit still applies,
// and the code of that message is valid only with its challenge.

const storageKey = "plinth-challenge";

export const saveSmsChallenge = (factorId: string, challengeId: string) =>
  sessionStorage.setItem(storageKey, `${factorId} ${challengeId}`);

export function loadSmsChallenge(factorId: string): string | null {
  const [factor, challenge] = (sessionStorage.getItem(storageKey) ?? "").split(" ");
  return factor === factorId && challenge ? challenge : null;
}
