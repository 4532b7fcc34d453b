import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("en");

/** Texts of the components, and texts shared by several pages. */
export const common = {
  /** Default title. */
  yourAccount: "Your account",

  cancel: "Cancel",
  close: "Close",
  continue: "Continue",
  contactSupport: "Contact support",
  copied: "Copied",
  notCopied: "Not copied: select it",
  copy: "Copy",
  loading: "Loading",
  or: "or",
  saving: "Saving…",
  sending: "Sending…",
  signOut: "Sign out",
  signingOut: "Signing out…",
  tryAgain: "Try again",

  /** Prefix of errors for screen readers, and of the document title. */
  errorMark: "Error: ",
  /** Above the links to several fields that are wrong. */
  checkFields: (count: number) =>
    `Check ${plural(count, { one: "this field", other: `these ${count} fields` })}:`,

  leaveTitle: "Leave without saving?",
  leaveText: "Your changes have not been saved. If you leave now, they are lost.",
  stay: "Stay here",
  leave: "Leave without saving",

  /** To the application that uses these pages. */
  backTo: (application: string) => `Back to ${application}`,
  /** An application without a name. */
  theApplication: "the application",

  code: "Code",
  email: "E-mail",
  name: "Name",
  password: "Password",
  newPassword: "New password",
  optional: (label: string) => `${label} (optional)`,
  showField: (label: string) => `Show ${label.toLowerCase()}`,
  showPassword: "Show password",
  isMet: "(done)",
  isMissing: "(missing)",

  country: "Country",
  chooseCountry: "Choose, or type the code below",
  phoneNumber: "Phone number",
  phoneExample: "+49 170 1234567",

  lastUsed: "Last used",
  sendCode: "Send code",
  sendAgain: "Send it again",
  sendNewCode: "Send a new code",
  waitToSend: (label: string, seconds: number) => `${label} in ${seconds} s`,
  sent: "Sent.",
  canAskAgain: (seconds: number) =>
    `You can ask again in ${seconds} ${plural(seconds, { one: "second", other: "seconds" })}.`,

  passwordChanged: "Password changed. Your other devices were signed out.",
  twoStepOn: "Two-step verification is on.",
};
