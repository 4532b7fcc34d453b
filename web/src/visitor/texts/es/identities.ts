import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const identities: Texts["identities"] = {
  title: "Cuentas vinculadas",
  lead: "Las formas en que puede iniciar sesión en esta cuenta.",
  loading: "Cargando sus cuentas vinculadas",
  email: "Correo electrónico y contraseña",
  phone: "Teléfono",
  connectedAt: (day) => rich`Vinculada el ${day}`,
  used: (time) => rich`Usada ${time}`,
  onlyOne:
    "Es su única forma de iniciar sesión. Para poder desvincularla, añada primero otra forma de iniciar sesión.",

  disconnect: "Desvincular",
  disconnectOf: (account) => `Desvincular ${account}`,
  disconnectTitle: (account) => `¿Desvincular ${account}?`,
  disconnectText: "Ya no podrá iniciar sesión con ella.",
  providesEmail: (address) => `De ella procede el correo electrónico de esta cuenta, ${address}.`,
  disconnecting: "Desvinculando…",
  disconnected: (account) => `Se ha desvinculado ${account}.`,

  another: "Vincular otra",
  anotherLead: "A partir de entonces podrá iniciar sesión con cualquiera de ellas.",
  loadingOthers: "Cargando las cuentas que se pueden vincular",
  connect: (provider) => `Vincular ${provider}`,
};
