import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const recovery: Texts["recovery"] = {
  forgot: "Passwort vergessen?",
  forgotLead:
    "Nennen Sie uns Ihre E-Mail-Adresse, und wir schicken Ihnen einen Link, mit dem Sie ein neues wählen.",
  form: "Passwort zurücksetzen",
  send: "Link senden",

  checkMail: "Sehen Sie in Ihre E-Mails",
  checkMailLead: "Falls es ein Konto gibt, haben wir einen Link geschickt.",
  sentTo: (address) =>
    rich`Falls es zu ${address} ein Konto gibt, haben wir einen Link und einen Code zum Zurücksetzen des Passworts geschickt.`,
  otherAddress: "Andere Adresse verwenden",

  needsLink: "Diese Seite braucht einen Link zum Zurücksetzen.",
  needsLinkLead: "Fordern Sie einen an, und öffnen Sie ihn aus Ihrer E-Mail.",
  changeInstead: "Stattdessen das Passwort ändern",
  askForLink: "Passwort zurücksetzen",
  oneMoreStep: "Noch ein Schritt",
  oneMoreStepLead: "Bestätigen Sie, dass Sie es sind, bevor Sie ein neues Passwort wählen.",

  choose: "Passwort wählen",
  chooseLead: (address) => `Für ${address}. Ihre anderen Geräte werden abgemeldet.`,
  keepCurrent: "Jetziges Passwort behalten",
  save: "Passwort speichern",
};
