import type { Texts } from "..";

export const guestLayout: Texts["guestLayout"] = {
  support: "Hilfe",
  terms: "Nutzungsbedingungen",
  privacy: "Datenschutz",
  signedIn: "Sie sind angemeldet.",
  wentWrong: "Etwas ist schiefgegangen",
  notLoaded: "Diese Seite konnte nicht geladen werden",
  notLoadedLead: "Prüfen Sie Ihre Verbindung, und laden Sie die Seite dann neu.",
  loadAgain: "Neu laden",
  noPage: "Diese Seite gibt es nicht",
  noPageLead: "Vielleicht ist die Adresse falsch geschrieben, oder die Seite ist umgezogen.",
  toAccount: "Zu Ihrem Konto",
};
