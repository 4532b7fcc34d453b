import type { Texts } from "..";

export const secondStep: Texts["secondStep"] = {
  title: "Noch ein Schritt",
  lead: "Bestätigen Sie mit Ihrem zweiten Schritt, dass Sie es sind.",
  loading: "Ihre zweiten Schritte werden geladen",
  otherWay: "Andere Methode verwenden",
  kinds: {
    totp: "Authenticator-App",
    phone: "SMS",
    webauthn: "Sicherheitsschlüssel",
  },

  appForm: "Code Ihrer Authenticator-App",
  appCode: "Code aus Ihrer Authenticator-App",
  savedAs: (name) => `Gespeichert als ${name}.`,
  phoneForm: "Code der SMS",
  phoneCode: "Code aus der SMS",
  sentTo: (number) => `Gesendet an ${number}.`,
  numberEndingIn: (digits) => `die Nummer mit der Endung ${digits}`,

  keepAtHand: (key) => `Halten Sie ${key} bereit, und fahren Sie dann fort.`,
  yourKey: "Ihren Sicherheitsschlüssel",
  withKey: "Sicherheitsschlüssel benutzen",
  waitingForKey: "Warten auf Ihren Schlüssel …",
};
