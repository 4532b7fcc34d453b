import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const deleteAccount: Texts["deleteAccount"] = {
  title: "Konto löschen",
  lead: "Das lässt sich nicht rückgängig machen.",
  whatHappens: "Was geschieht",
  consequences: [
    "Sie werden auf allen Geräten abgemeldet.",
    "Ihr Profil, verbundene Konten und zweite Schritte werden gelöscht.",
    "Was in diesem Dienst zu Ihrem Konto gehört, kann mit ihm gelöscht werden.",
    "Niemand kann es wiederherstellen, auch der Betreiber nicht.",
  ],
  keyword: "löschen",
  typeToConfirm: (name) => rich`Geben Sie zur Bestätigung ${name} ein`,
  notConfirmed: (name) => `Geben Sie zur Bestätigung ${name} ein.`,
  submit: "Mein Konto löschen",
  deleting: "Wird gelöscht …",
};
