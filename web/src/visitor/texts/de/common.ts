import type { Texts } from "..";
import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("de");

export const common: Texts["common"] = {
  yourAccount: "Ihr Konto",

  cancel: "Abbrechen",
  close: "Schließen",
  continue: "Weiter",
  contactSupport: "Hilfe anfordern",
  copied: "Kopiert",
  notCopied: "Nicht kopiert: bitte markieren",
  copy: "Kopieren",
  loading: "Wird geladen",
  or: "oder",
  saving: "Wird gespeichert …",
  sending: "Wird gesendet …",
  signOut: "Abmelden",
  signingOut: "Wird abgemeldet …",
  tryAgain: "Erneut versuchen",

  errorMark: "Fehler: ",
  checkFields: (count) =>
    `Prüfen Sie ${plural(count, { one: "dieses Feld", other: `diese ${count} Felder` })}:`,

  leaveTitle: "Ohne Speichern verlassen?",
  leaveText:
    "Ihre Änderungen sind nicht gespeichert. Wenn Sie die Seite jetzt verlassen, gehen sie verloren.",
  stay: "Hier bleiben",
  leave: "Ohne Speichern verlassen",

  backTo: (application) => `Zurück zu ${application}`,
  theApplication: "Ihrer Anwendung",

  code: "Code",
  email: "E-Mail",
  name: "Name",
  password: "Passwort",
  newPassword: "Neues Passwort",
  optional: (label) => `${label} (freiwillig)`,
  showField: (label) => `${label} anzeigen`,
  showPassword: "Passwort anzeigen",
  isMet: "(erfüllt)",
  isMissing: "(fehlt)",

  country: "Land",
  chooseCountry: "Auswählen, oder die Vorwahl unten eingeben",
  phoneNumber: "Telefonnummer",
  phoneExample: "+49 170 1234567",

  lastUsed: "Zuletzt benutzt",
  sendCode: "Code senden",
  sendAgain: "Erneut senden",
  sendNewCode: "Neuen Code senden",
  waitToSend: (label, seconds) => `${label} in ${seconds} s`,
  sent: "Gesendet.",
  canAskAgain: (seconds) =>
    `In ${seconds} ${plural(seconds, { one: "Sekunde", other: "Sekunden" })} können Sie es erneut anfordern.`,

  passwordChanged: "Passwort geändert. Ihre anderen Geräte wurden abgemeldet.",
  twoStepOn: "Die Zwei-Schritt-Anmeldung ist eingeschaltet.",
};
