import type { Texts } from "..";

export const guestLayout: Texts["guestLayout"] = {
  support: "Assistance",
  terms: "Conditions",
  privacy: "Confidentialité",
  signedIn: "Vous êtes connecté.",
  wentWrong: "Une erreur s’est produite",
  notLoaded: "Cette page n’a pas pu être chargée",
  notLoadedLead: "Vérifiez votre connexion, puis rechargez la page.",
  loadAgain: "Recharger",
  noPage: "Cette page n’existe pas",
  noPageLead: "L’adresse est peut-être erronée, ou la page a été déplacée.",
  toAccount: "Aller à votre compte",
};
