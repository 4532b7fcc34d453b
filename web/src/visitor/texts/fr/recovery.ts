import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const recovery: Texts["recovery"] = {
  forgot: "Mot de passe oublié ?",
  forgotLead: "Indiquez votre adresse e-mail, et nous vous enverrons un lien pour en choisir un nouveau.",
  form: "Réinitialiser votre mot de passe",
  send: "Envoyer le lien",

  checkMail: "Consultez vos e-mails",
  checkMailLead: "S’il existe un compte, nous avons envoyé un lien.",
  sentTo: (address) =>
    rich`S’il existe un compte pour ${address}, nous avons envoyé un lien et un code pour réinitialiser son mot de passe.`,
  otherAddress: "Utiliser une autre adresse",

  needsLink: "Cette page nécessite un lien de réinitialisation.",
  needsLinkLead: "Demandez-en un, et ouvrez-le depuis votre e-mail.",
  changeInstead: "Modifier plutôt votre mot de passe",
  askForLink: "Réinitialiser votre mot de passe",
  oneMoreStep: "Encore une étape",
  oneMoreStepLead: "Confirmez votre identité avant de choisir un nouveau mot de passe.",

  choose: "Choisir un mot de passe",
  chooseLead: (address) => `Pour ${address}. Vos autres appareils seront déconnectés.`,
  keepCurrent: "Garder le mot de passe actuel",
  save: "Enregistrer le mot de passe",
};
