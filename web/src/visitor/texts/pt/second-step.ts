import type { Texts } from "..";

export const secondStep: Texts["secondStep"] = {
  title: "Mais uma etapa",
  lead: "Confirme que é você com sua segunda etapa.",
  loading: "Carregando suas segundas etapas",
  otherWay: "Tentar de outra forma",
  kinds: {
    totp: "Aplicativo autenticador",
    phone: "Mensagem de texto",
    webauthn: "Chave de segurança",
  },

  appForm: "Código do seu aplicativo autenticador",
  appCode: "Código exibido no seu aplicativo autenticador",
  savedAs: (name) => `Salvo como ${name}.`,
  phoneForm: "Código da mensagem de texto",
  phoneCode: "Código recebido por mensagem de texto",
  sentTo: (number) => `Enviado para ${number}.`,
  numberEndingIn: (digits) => `o número com final ${digits}`,

  keepAtHand: (key) => `Tenha ${key} em mãos e continue.`,
  yourKey: "sua chave de segurança",
  withKey: "Usar a chave de segurança",
  waitingForKey: "Aguardando sua chave…",
};
