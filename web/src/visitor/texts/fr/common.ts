import type { Texts } from "..";
import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("fr");

export const common: Texts["common"] = {
  yourAccount: "Votre compte",

  cancel: "Annuler",
  close: "Fermer",
  continue: "Continuer",
  contactSupport: "Contacter l’assistance",
  copied: "Copié",
  notCopied: "Non copié : sélectionnez le texte",
  copy: "Copier",
  loading: "Chargement",
  or: "ou",
  saving: "Enregistrement…",
  sending: "Envoi…",
  signOut: "Se déconnecter",
  signingOut: "Déconnexion…",
  tryAgain: "Réessayer",

  errorMark: "Erreur : ",
  checkFields: (count) => `Vérifiez ${plural(count, { one: "ce champ", other: `ces ${count} champs` })} :`,

  leaveTitle: "Quitter sans enregistrer ?",
  leaveText: "Vos modifications ne sont pas enregistrées. Si vous quittez la page, elles seront perdues.",
  stay: "Rester ici",
  leave: "Quitter sans enregistrer",

  backTo: (application) => `Retour à ${application}`,
  theApplication: "l’application",

  code: "Code",
  email: "E-mail",
  name: "Nom",
  password: "Mot de passe",
  newPassword: "Nouveau mot de passe",
  optional: (label) => `${label} (facultatif)`,
  showField: (label) => `Afficher : ${label.toLowerCase()}`,
  showPassword: "Afficher le mot de passe",
  isMet: "(rempli)",
  isMissing: "(manquant)",

  country: "Pays",
  chooseCountry: "Choisissez, ou saisissez l’indicatif ci-dessous",
  phoneNumber: "Numéro de téléphone",
  phoneExample: "+33 6 12 34 56 78",

  lastUsed: "Dernière utilisation",
  sendCode: "Envoyer le code",
  sendAgain: "Renvoyer",
  sendNewCode: "Envoyer un nouveau code",
  waitToSend: (label, seconds) => `${label} dans ${seconds} s`,
  sent: "Envoyé.",
  canAskAgain: (seconds) =>
    `Nouvelle demande possible dans ${seconds} ${plural(seconds, { one: "seconde", other: "secondes" })}.`,

  passwordChanged: "Mot de passe modifié. Vos autres appareils ont été déconnectés.",
  twoStepOn: "La validation en deux étapes est activée.",
};
