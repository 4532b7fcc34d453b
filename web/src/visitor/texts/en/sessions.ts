import type { ReactNode } from "react";

import { type RenderText, rich } from "../../../texts/rich";

export const sessions = {
  title: "Devices",
  lead: "Where you are signed in right now.",
  loading: "Loading your devices",
  onlyHere: "You're only signed in here.",
  onlyHereLead: "Other devices appear in this list when you sign in on them.",

  thisDevice: "This device",
  active: (time: ReactNode) => rich`Active ${time}`,
  /** The device is visible from the row; screen readers need it in the label. */
  details: (device: string, srOnly: RenderText) => rich`Details${srOnly(` of ${device}`)}`,
  signedIn: (time: ReactNode) => rich`Signed in ${time}`,
  signOutOf: (device: string) => `Sign out ${device}`,
  signedOut: (device: string) => `Signed out ${device}.`,

  several: "Sign out of several at once",
  severalLead: "Do this when you lost a device, or used one that isn't yours.",
  signOutOthers: "Sign out other devices",
  othersSignedOut: "Your other devices were signed out.",
  signOutEverywhere: "Sign out everywhere",
};

export const devices = {
  browserOn: (browser: string, system: string) => `${browser} on ${system}`,
  flutterApp: "Flutter app",
  androidApp: "Android app",
  appleApp: "Apple app",
  unknown: "Unknown device",
};
