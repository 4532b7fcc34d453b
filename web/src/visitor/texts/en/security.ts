import type { ReactNode } from "react";

import { rich } from "../../../texts/rich";

export const security = {
  title: "Two-step verification",
  lead: "A second step when you sign in protects your account even if somebody learns your password.",
  loading: "Loading your second steps",

  none: "You have no second step yet.",
  why:
    "With an authenticator app on your phone, signing in takes your password and a code that changes " +
    "every 30 seconds. Nobody gets in with the password alone.",
  yours: "Your second steps",
  onlyOne: "You have one second step. Add another, in case you lose it.",
  list: "Second steps",
  unfinished: "Unfinished set-up",
  unfinishedLead: "These don't protect you yet.",
  isUnfinished: "Not finished",
  turnedOff: "This method is turned off.",
  addApp: "Set up an authenticator app",
  addPhone: "Add a phone",
  addKey: "Add a security key",

  finish: "Finish",
  finishOf: (name: string) => `Finish setting up ${name}`,
  theApp: "the app",
  finishTitle: "Finish setting up",
  finishLead:
    "Type the code that your app shows. If you never scanned the picture, remove this entry and start again.",

  added: (day: ReactNode) => rich`Added ${day}`,
  used: (time: ReactNode) => rich`Used ${time}`,
  remove: "Remove",
  removeOf: (name: string) => `Remove ${name}`,
  removeTitle: (name: string) => `Remove ${name}?`,
  removeText: "You won't be asked for it any more when you sign in.",
  removeLast: "It is your last one: your password alone will open your account.",
  removing: "Removing…",
  removed: (name: string) => `${name} is removed.`,

  keyHint: "So that you can tell your keys apart.",
  waitingForKey: "Waiting for your key…",
  keyAdded: "Security key added.",

  back: "Back",
};

/** TOTP enrollment. */
export const newApp = {
  title: "Set up an authenticator app",
  name: "1. Give it a name",
  nameLead: "So that you can tell your devices apart later.",
  nameForm: "Name of the app",
  preparing: "Preparing…",

  scan: "2. Scan the picture",
  scanLead: "Open your authenticator app, add an account and point the camera here.",
  picture: "QR code for your authenticator app",
  cannotScan: (account: string, service: string) =>
    `Can't scan it? Type this key into the app for ${account} at ${service}:`,
  yourAccount: "your account",
  copyKey: "Copy the key",
  openApp: "Open in authenticator",

  type: "3. Type the code",
  typeLead: "The app now shows six digits for this account.",
  turnOn: "Turn on",
  cancelling: "Cancelling…",

  done: "Two-step verification is on",
  doneText:
    "From now on, signing in asks for a code of your app. Devices that were signed in with your password " +
    "alone have been signed out.",
  seeAll: "See your second steps, or add another",
};
