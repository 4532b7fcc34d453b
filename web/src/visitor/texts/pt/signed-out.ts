import type { Texts } from "..";

export const signedOut: Texts["signedOut"] = {
  title: "Você saiu",
  lead: "Sua sessão neste dispositivo terminou.",
  signInAgain: "Entrar novamente",
};

export const accountDeleted: Texts["accountDeleted"] = {
  title: "Sua conta foi excluída",
  lead: (service) => `Obrigado por ter usado ${service}.`,
  nothingLeft: "Nada dela ficou neste dispositivo. Você pode fechar esta página.",
};
