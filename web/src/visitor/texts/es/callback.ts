import type { Texts } from "..";

export const callback: Texts["callback"] = {
  connected: (provider) => `${provider} está vinculado.`,
  cancelled: "Se canceló el inicio de sesión",
  unfinished: "El inicio de sesión no se completó",
  backToAccount: "Volver a su cuenta",
};
