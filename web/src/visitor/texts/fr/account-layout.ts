import type { Texts } from "..";

export const accountLayout: Texts["accountLayout"] = {
  skip: "Aller au contenu",
  navigation: "Compte",
  profile: "Profil",
  password: "Mot de passe",
  security: "Validation en deux étapes",
  identities: "Comptes associés",
  sessions: "Appareils",
  delete: "Supprimer le compte",
  weakPassword: "Votre mot de passe est moins sûr que ce que nous exigeons aujourd’hui.",
  chooseStronger: "En choisir un plus sûr",
  notNow: "Plus tard",
  toProfile: "Aller à votre profil",
};
