import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signUp: Texts["signUp"] = {
  title: "Konto erstellen",
  titleUpgrade: "Konto behalten",
  leadUpgrade: "Geben Sie eine E-Mail-Adresse an, damit Sie zu dem zurückkehren können, was Sie hier haben.",
  closed: "Die Registrierung ist geschlossen.",
  closedLead: "Zurzeit können hier keine neuen Konten erstellt werden.",
  haveAccount: (link) => rich`Sie haben schon ein Konto? ${link("Anmelden")}`,

  signInInstead: "Anmelden",
  resetInstead: "Passwort zurücksetzen",
  submit: "Konto erstellen",
  creating: "Ihr Konto wird erstellt …",
  consent: "Ich stimme den Bedingungen dieses Dienstes zu",
  consentTerms: (terms) => rich`Ich stimme den ${terms("Nutzungsbedingungen")} zu`,
  consentPrivacy: (privacy) => rich`Ich stimme der ${privacy("Datenschutzerklärung")} zu`,
  consentBoth: (terms, privacy) =>
    rich`Ich stimme den ${terms("Nutzungsbedingungen")} und der ${privacy("Datenschutzerklärung")} zu`,

  checkMail: "Sehen Sie in Ihre E-Mails",
  checkMailLead:
    "Wir haben Ihnen einen Link geschickt. Öffnen Sie ihn, um Ihre E-Mail-Adresse zu bestätigen.",
  sentTo: (address) =>
    rich`Wir haben einen Link und einen Code an ${address} geschickt. Öffnen Sie den Link, oder geben Sie hier den Code ein.`,
  wrongAddress: "Falsche Adresse?",
  confirm: "Adresse bestätigen",
  openMailApp: "E-Mail-Programm öffnen",
};
