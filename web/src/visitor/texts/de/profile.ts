import type { Texts } from "..";

export const profile: Texts["profile"] = {
  title: "Profil",
  lead: "Was dieser Dienst über Sie weiß.",
  loading: "Ihr Profil wird geladen",
  noName: "Noch kein Name",

  details: "Ihre Angaben",
  detailsLead: "Geben Sie Ihren Namen an, damit man Sie erkennt.",
  save: "Änderungen speichern",
  saved: "Gespeichert.",
  unsaved: "Sie haben ungespeicherte Änderungen.",

  account: "Konto",
  email: "E-Mail",
  noEmail: "Keine",
  isVerified: "Bestätigt",
  isNotVerified: "Nicht bestätigt",
  waitingFor: (address) => `Die Bestätigung von ${address} steht noch aus.`,
  change: "Ändern",
  phone: "Telefon",
  memberSince: "Dabei seit",
  lastSignIn: "Letzte Anmeldung",
  userId: "Benutzer-ID",
  copyUserId: "Benutzer-ID kopieren",
};
