import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const identities: Texts["identities"] = {
  title: "Contas conectadas",
  lead: "As formas de entrar nesta conta.",
  loading: "Carregando suas contas conectadas",
  email: "E-mail e senha",
  phone: "Telefone",
  connectedAt: (day) => rich`Conectada em ${day}`,
  used: (time) => rich`Usada ${time}`,
  onlyOne:
    "Esta é a sua única forma de entrar. Para poder desconectá-la, adicione primeiro outra forma de entrar.",

  disconnect: "Desconectar",
  disconnectOf: (account) => `Desconectar ${account}`,
  disconnectTitle: (account) => `Desconectar ${account}?`,
  disconnectText: "Você não poderá mais entrar com ela.",
  providesEmail: (address) => `É dela que vem o e-mail desta conta, ${address}.`,
  disconnecting: "Desconectando…",
  disconnected: (account) => `${account} foi desconectado.`,

  another: "Conectar outra",
  anotherLead: "Depois disso, você pode entrar com qualquer uma delas.",
  loadingOthers: "Carregando o que pode ser conectado",
  connect: (provider) => `Conectar ${provider}`,
};
