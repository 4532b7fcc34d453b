import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const deleteAccount: Texts["deleteAccount"] = {
  title: "Supprimer votre compte",
  lead: "Cette action est irréversible.",
  whatHappens: "Ce qui va se passer",
  consequences: [
    "Vous serez déconnecté de tous vos appareils.",
    "Votre profil, vos comptes associés et vos secondes étapes seront supprimés.",
    "Ce qui est lié à votre compte dans ce service pourra être supprimé avec lui.",
    "Personne ne pourra le rétablir, pas même l’exploitant.",
  ],
  keyword: "supprimer",
  typeToConfirm: (name) => rich`Saisissez ${name} pour confirmer`,
  notConfirmed: (name) => `Saisissez ${name} pour confirmer.`,
  submit: "Supprimer mon compte",
  deleting: "Suppression…",
};
