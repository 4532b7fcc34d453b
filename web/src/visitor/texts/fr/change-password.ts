import type { Texts } from "..";

export const changePassword: Texts["changePassword"] = {
  title: "Modifier votre mot de passe",
  titleFirst: "Définir un mot de passe",
  current: "Mot de passe actuel",
  consequences: "Vos autres appareils seront déconnectés, et les liens déjà envoyés ne fonctionneront plus.",
  save: "Enregistrer le mot de passe",
  notNow: "Plus tard",
};
