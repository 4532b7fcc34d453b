/** `/callback`, the redirect target of providers. */
export const callback = {
  connected: (provider: string) => `${provider} is connected.`,
  cancelled: "Sign-in was cancelled",
  unfinished: "Sign-in didn't finish",
  backToAccount: "Back to your account",
};
