export const secondStep = {
  title: "One more step",
  lead: "Confirm that it's you with your second step.",
  loading: "Loading your second steps",
  otherWay: "Try another way",
  /** By factor type. */
  kinds: {
    totp: "Authenticator app",
    phone: "Text message",
    webauthn: "Security key",
  },

  appForm: "Code of your authenticator app",
  appCode: "Code from your authenticator app",
  savedAs: (name: string) => `Saved as ${name}.`,
  phoneForm: "Code of the text message",
  phoneCode: "Code from the text message",
  sentTo: (number: string) => `Sent to ${number}.`,
  numberEndingIn: (digits: string) => `the number ending in ${digits}`,

  keepAtHand: (key: string) => `Keep ${key} at hand, then continue.`,
  yourKey: "your security key",
  withKey: "Use security key",
  waitingForKey: "Waiting for your key…",
};
