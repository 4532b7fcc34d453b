import type { Texts } from "..";

export const stepUp: Texts["stepUp"] = {
  title: "Confirme que es usted",
  isSending: (address) =>
    `Estamos enviando un código a ${address}. Escríbalo aquí para confirmar que es usted.`,
  sentTo: (address) => `Hemos enviado un código a ${address}. Escríbalo aquí para confirmar que es usted.`,
  confirm: "Confirmar",
};
