import type { ReactNode } from "react";

import { rich } from "../../../texts/rich";

export const identities = {
  title: "Connected accounts",
  lead: "The ways you can sign in to this account.",
  loading: "Loading your connected accounts",
  email: "E-mail and password",
  phone: "Phone",
  connectedAt: (day: ReactNode) => rich`Connected ${day}`,
  used: (time: ReactNode) => rich`Used ${time}`,
  onlyOne: "This is your only way to sign in. Add another way to sign in first to be able to disconnect it.",

  disconnect: "Disconnect",
  disconnectOf: (account: string) => `Disconnect ${account}`,
  disconnectTitle: (account: string) => `Disconnect ${account}?`,
  disconnectText: "You won't be able to sign in with it any more.",
  providesEmail: (address: string) => `It provides the e-mail address of this account, ${address}.`,
  disconnecting: "Disconnecting…",
  disconnected: (account: string) => `${account} is disconnected.`,

  another: "Connect another",
  anotherLead: "Sign in with any of them from then on.",
  loadingOthers: "Loading what can be connected",
  connect: (provider: string) => `Connect ${provider}`,
};
