import type { Texts } from "..";

export const changeEmail: Texts["changeEmail"] = {
  title: "Modifier votre adresse e-mail",
  loading: "Chargement de votre adresse",
  back: "Retour à votre profil",

  newAddress: "Nouvelle adresse",
  current: (address) => `Votre adresse actuelle est ${address}.`,
  newEmail: "Nouvelle adresse e-mail",
  isYours: "C’est déjà votre adresse.",
  submit: "Modifier l’adresse",
  mailSent: "Nous vous avons envoyé un e-mail.",
  changed: "Votre adresse e-mail a été modifiée.",

  confirmBoth: "Confirmez depuis les deux adresses",
  confirmNew: "Confirmez depuis la nouvelle adresse",
  sentToBoth: (pending, current) =>
    `Nous avons envoyé un e-mail à ${pending} et un autre à ${current}. Ouvrez le lien de chacun d’eux, ou ` +
    `saisissez le code reçu à ${pending}. Pour garder votre adresse, ne faites rien.`,
  sentToNew: (pending) =>
    `Nous avons envoyé un e-mail à ${pending}. Ouvrez le lien qu’il contient, ou saisissez le code reçu à ` +
    `${pending}. Pour garder votre adresse, ne faites rien.`,
  halfDone: "Une confirmation reçue. Ouvrez maintenant le lien envoyé à votre autre adresse.",
  confirm: "Confirmer",
};
