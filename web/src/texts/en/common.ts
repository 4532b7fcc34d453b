/** Words of the kit, and those that mean the same on many pages. */
export const common = {
  /** Where the operator gave the pages no title. */
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

  /** Before a message for those who only hear the page, and before the title of a page with one. */
  errorMark: "Error: ",
  leaveUnsaved: "You have unsaved changes. Leave without saving them?",

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
  canAskAgain: (seconds: number) => `You can ask again in ${seconds} seconds.`,

  passwordChanged: "Password changed. Your other devices were signed out.",
  twoStepOn: "Two-step verification is on.",
};
