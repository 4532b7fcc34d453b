import type { Texts } from "..";

export const signedOut: Texts["signedOut"] = {
  title: "Vous êtes déconnecté",
  lead: "Votre session sur cet appareil est terminée.",
  signInAgain: "Se reconnecter",
};

export const accountDeleted: Texts["accountDeleted"] = {
  title: "Votre compte est supprimé",
  lead: (service) => `Merci d’avoir utilisé ${service}.`,
  nothingLeft: "Il n’en reste rien sur cet appareil. Vous pouvez fermer cette page.",
};
