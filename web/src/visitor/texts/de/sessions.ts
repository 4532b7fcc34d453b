import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const sessions: Texts["sessions"] = {
  title: "Geräte",
  lead: "Wo Sie gerade angemeldet sind.",
  loading: "Ihre Geräte werden geladen",
  onlyHere: "Sie sind nur hier angemeldet.",
  onlyHereLead: "Andere Geräte erscheinen in dieser Liste, sobald Sie sich auf ihnen anmelden.",

  thisDevice: "Dieses Gerät",
  active: (time) => rich`Aktiv ${time}`,
  details: (device, srOnly) => rich`Einzelheiten${srOnly(` zu ${device}`)}`,
  signedIn: (time) => rich`Angemeldet: ${time}`,
  signOutOf: (device) => `${device} abmelden`,
  signedOut: (device) => `${device} wurde abgemeldet.`,

  several: "Mehrere auf einmal abmelden",
  severalLead: "Tun Sie das, wenn Sie ein Gerät verloren oder ein fremdes benutzt haben.",
  signOutOthers: "Andere Geräte abmelden",
  othersSignedOut: "Ihre anderen Geräte wurden abgemeldet.",
  signOutEverywhere: "Überall abmelden",
};

export const devices: Texts["devices"] = {
  browserOn: (browser, system) => `${browser} auf ${system}`,
  flutterApp: "Flutter-App",
  androidApp: "Android-App",
  appleApp: "Apple-App",
  unknown: "Unbekanntes Gerät",
};
