import type { Texts } from "..";

export const stepUp: Texts["stepUp"] = {
  title: "Confirme que é você",
  isSending: (address) =>
    `Estamos enviando um código para ${address}. Digite-o aqui para confirmar que é você.`,
  sentTo: (address) => `Enviamos um código para ${address}. Digite-o aqui para confirmar que é você.`,
  confirm: "Confirmar",
};
