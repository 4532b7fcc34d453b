import type { Texts } from "..";

export const guestLayout: Texts["guestLayout"] = {
  support: "Suporte",
  terms: "Termos",
  privacy: "Privacidade",
  signedIn: "Você entrou.",
  wentWrong: "Algo deu errado",
  notLoaded: "Não foi possível carregar esta página",
  notLoadedLead: "Verifique sua conexão e carregue-a novamente.",
  loadAgain: "Carregar novamente",
  noPage: "Esta página não existe",
  noPageLead: "O endereço pode estar errado, ou a página mudou de lugar.",
  toAccount: "Ir para a sua conta",
};
