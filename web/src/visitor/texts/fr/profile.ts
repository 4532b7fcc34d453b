import type { Texts } from "..";

export const profile: Texts["profile"] = {
  title: "Profil",
  lead: "Ce que ce service sait de vous.",
  loading: "Chargement de votre profil",
  noName: "Pas encore de nom",

  details: "Vos informations",
  detailsLead: "Ajoutez votre nom, pour que l’on vous reconnaisse.",
  save: "Enregistrer les modifications",
  saved: "Enregistré.",
  unsaved: "Vous avez des modifications non enregistrées.",

  account: "Compte",
  email: "E-mail",
  noEmail: "Aucun",
  isVerified: "Vérifié",
  isNotVerified: "Non vérifié",
  waitingFor: (address) => `En attente de la confirmation de ${address}.`,
  change: "Modifier",
  phone: "Téléphone",
  memberSince: "Membre depuis",
  lastSignIn: "Dernière connexion",
  userId: "Identifiant",
  copyUserId: "Copier l’identifiant",
};
