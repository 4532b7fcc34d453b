import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signIn: Texts["signIn"] = {
  title: "Se connecter",
  reasons: {
    expired: "Vous avez été déconnecté. Veuillez vous reconnecter.",
    revoked: "Cet appareil a été déconnecté.",
    signed_out: "Vous êtes déconnecté.",
  },
  newHere: (link) => rich`Nouveau ici ? ${link("Créer un compte")}`,
  withCode: "Se connecter plutôt avec un code",
  withSso: "Utiliser l’authentification unique",
  otherWay: "Se connecter autrement",
  back: "Retour à la connexion",

  form: "Se connecter avec votre mot de passe",
  forgot: "Mot de passe oublié ?",
  resendConfirmation: "Renvoyer la confirmation",
  submit: "Se connecter",
  signingIn: "Connexion…",

  withPasskey: "Utiliser une clé d’accès",
  waitingForPasskey: "En attente de votre clé d’accès…",
  noPasskeyUsed: "Aucune clé d’accès n’a été utilisée.",

  suspended: "Ce compte est suspendu",
};

export const providers: Texts["providers"] = {
  continueWith: (provider) => `Continuer avec ${provider}`,
  opening: (provider) => `Ouverture de ${provider}…`,
};

export const singleSignOn: Texts["singleSignOn"] = {
  title: "Authentification unique",
  lead: "Connectez-vous avec votre organisation.",
  workEmail: "E-mail professionnel",
  opening: "Ouverture…",
};
