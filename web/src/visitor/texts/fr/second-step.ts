import type { Texts } from "..";

export const secondStep: Texts["secondStep"] = {
  title: "Encore une étape",
  lead: "Confirmez votre identité avec votre seconde étape.",
  loading: "Chargement de vos secondes étapes",
  otherWay: "Essayer une autre méthode",
  kinds: {
    totp: "Application d’authentification",
    phone: "SMS",
    webauthn: "Clé de sécurité",
  },

  appForm: "Code de votre application d’authentification",
  appCode: "Code affiché par votre application d’authentification",
  savedAs: (name) => `Enregistrée sous le nom ${name}.`,
  phoneForm: "Code du SMS",
  phoneCode: "Code reçu par SMS",
  sentTo: (number) => `Envoyé à ${number}.`,
  numberEndingIn: (digits) => `le numéro se terminant par ${digits}`,

  keepAtHand: (key) => `Gardez ${key} à portée de main, puis continuez.`,
  yourKey: "votre clé de sécurité",
  withKey: "Utiliser la clé de sécurité",
  waitingForKey: "En attente de votre clé…",
};
