/** Back from a provider. */
export const callback = {
  connected: (provider: string) => `${provider} is connected.`,
  cancelled: "Sign-in was cancelled",
  unfinished: "Sign-in didn't finish",
  backToAccount: "Back to your account",
};
