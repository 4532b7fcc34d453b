import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signUp: Texts["signUp"] = {
  title: "Créer un compte",
  titleUpgrade: "Garder votre compte",
  leadUpgrade: "Ajoutez une adresse e-mail, afin de pouvoir retrouver ce que vous avez ici.",
  closed: "Les inscriptions sont fermées.",
  closedLead: "Il n’est pas possible de créer un compte ici pour le moment.",
  haveAccount: (link) => rich`Vous avez déjà un compte ? ${link("Se connecter")}`,

  signInInstead: "Se connecter",
  resetInstead: "Réinitialiser votre mot de passe",
  submit: "Créer le compte",
  creating: "Création de votre compte…",
  consent: "J’accepte les conditions de ce service",
  consentTerms: (terms) => rich`J’accepte les ${terms("conditions d’utilisation")}`,
  consentPrivacy: (privacy) => rich`J’accepte la ${privacy("politique de confidentialité")}`,
  consentBoth: (terms, privacy) =>
    rich`J’accepte les ${terms("conditions d’utilisation")} et la ${privacy("politique de confidentialité")}`,

  checkMail: "Consultez vos e-mails",
  checkMailLead: "Nous vous avons envoyé un lien. Ouvrez-le pour confirmer votre adresse e-mail.",
  sentTo: (address) =>
    rich`Nous avons envoyé un lien et un code à ${address}. Ouvrez le lien, ou saisissez le code ici.`,
  wrongAddress: "Mauvaise adresse ?",
  confirm: "Confirmer l’adresse",
  openMailApp: "Ouvrir la messagerie",
};
