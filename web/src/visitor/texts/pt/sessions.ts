import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const sessions: Texts["sessions"] = {
  title: "Dispositivos",
  lead: "Onde você está conectado neste momento.",
  loading: "Carregando seus dispositivos",
  onlyHere: "Você só está conectado aqui.",
  onlyHereLead: "Outros dispositivos aparecem nesta lista quando você entra neles.",

  thisDevice: "Este dispositivo",
  active: (time) => rich`Ativo ${time}`,
  details: (device, srOnly) => rich`Detalhes${srOnly(` de ${device}`)}`,
  signedIn: (time) => rich`Conectado: ${time}`,
  signOutOf: (device) => `Desconectar ${device}`,
  signedOut: (device) => `${device} foi desconectado.`,

  several: "Desconectar vários de uma vez",
  severalLead: "Faça isso se você perdeu um dispositivo, ou usou um que não é seu.",
  signOutOthers: "Desconectar outros dispositivos",
  othersSignedOut: "Seus outros dispositivos foram desconectados.",
  signOutEverywhere: "Sair de todos",
};

export const devices: Texts["devices"] = {
  browserOn: (browser, system) => `${browser} no ${system}`,
  flutterApp: "Aplicativo Flutter",
  androidApp: "Aplicativo Android",
  appleApp: "Aplicativo Apple",
  unknown: "Dispositivo desconhecido",
};
