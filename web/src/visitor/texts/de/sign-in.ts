import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signIn: Texts["signIn"] = {
  title: "Anmelden",
  reasons: {
    expired: "Sie wurden abgemeldet. Bitte melden Sie sich erneut an.",
    revoked: "Dieses Gerät wurde abgemeldet.",
    signed_out: "Sie sind abgemeldet.",
  },
  newHere: (link) => rich`Neu hier? ${link("Konto erstellen")}`,
  withCode: "Stattdessen mit einem Code anmelden",
  withSso: "Single Sign-on verwenden",
  otherWay: "Auf andere Weise anmelden",
  back: "Zurück zur Anmeldung",

  form: "Mit Passwort anmelden",
  forgot: "Passwort vergessen?",
  resendConfirmation: "Bestätigung erneut senden",
  submit: "Anmelden",
  signingIn: "Wird angemeldet …",

  withPasskey: "Passkey verwenden",
  waitingForPasskey: "Warten auf Ihren Passkey …",
  noPasskeyUsed: "Es wurde kein Passkey benutzt.",

  suspended: "Dieses Konto ist gesperrt",
};

export const providers: Texts["providers"] = {
  continueWith: (provider) => `Weiter mit ${provider}`,
  opening: (provider) => `${provider} wird geöffnet …`,
};

export const singleSignOn: Texts["singleSignOn"] = {
  title: "Single Sign-on",
  lead: "Melden Sie sich bei Ihrer Organisation an.",
  workEmail: "E-Mail-Adresse bei der Arbeit",
  opening: "Wird geöffnet …",
};
