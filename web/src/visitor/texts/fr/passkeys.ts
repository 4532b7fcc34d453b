import type { Texts } from "..";

export const passkeys: Texts["passkeys"] = {
  title: "Clés d’accès",
  lead: "Connectez-vous avec votre empreinte, votre visage ou le code de votre appareil au lieu d’un mot de passe.",
  loading: "Chargement de vos clés d’accès",
  none: "Vous n’avez pas encore de clé d’accès.",
  passkey: "Clé d’accès",
  add: "Ajouter une clé d’accès",
  waitingForDevice: "En attente de votre appareil…",
  added: "Clé d’accès ajoutée.",

  rename: "Renommer",
  renameOf: (name) => `Renommer ${name}`,
  renameTitle: "Renommer la clé d’accès",
  save: "Enregistrer",
  renamed: "Clé renommée.",
  removeText:
    "Vous ne pourrez plus vous connecter avec elle. Elle peut rester sur votre appareil ; retirez-la aussi là-bas.",
};
