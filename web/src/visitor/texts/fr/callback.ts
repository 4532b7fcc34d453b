import type { Texts } from "..";

export const callback: Texts["callback"] = {
  connected: (provider) => `${provider} est associé.`,
  cancelled: "La connexion a été annulée",
  unfinished: "La connexion n’a pas abouti",
  backToAccount: "Retour à votre compte",
};
