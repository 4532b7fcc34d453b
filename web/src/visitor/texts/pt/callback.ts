import type { Texts } from "..";

export const callback: Texts["callback"] = {
  connected: (provider) => `${provider} está conectado.`,
  cancelled: "O acesso foi cancelado",
  unfinished: "O acesso não foi concluído",
  backToAccount: "Voltar para a sua conta",
};
