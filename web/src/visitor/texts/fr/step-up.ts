import type { Texts } from "..";

export const stepUp: Texts["stepUp"] = {
  title: "Confirmez votre identité",
  isSending: (address) =>
    `Nous envoyons un code à ${address}. Saisissez-le ici pour confirmer votre identité.`,
  sentTo: (address) =>
    `Nous avons envoyé un code à ${address}. Saisissez-le ici pour confirmer votre identité.`,
  confirm: "Confirmer",
};
