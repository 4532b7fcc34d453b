import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const sessions: Texts["sessions"] = {
  title: "Dispositivos",
  lead: "Dónde tiene la sesión iniciada en este momento.",
  loading: "Cargando sus dispositivos",
  onlyHere: "Solo tiene la sesión iniciada aquí.",
  onlyHereLead: "Otros dispositivos aparecerán en esta lista cuando inicie sesión en ellos.",

  thisDevice: "Este dispositivo",
  active: (time) => rich`Activo ${time}`,
  details: (device, srOnly) => rich`Detalles${srOnly(` de ${device}`)}`,
  signedIn: (time) => rich`Sesión iniciada: ${time}`,
  signOutOf: (device) => `Cerrar la sesión de ${device}`,
  signedOut: (device) => `Se cerró la sesión de ${device}.`,

  several: "Cerrar varias sesiones a la vez",
  severalLead: "Hágalo si perdió un dispositivo o usó uno que no es suyo.",
  signOutOthers: "Cerrar sesión en los demás",
  othersSignedOut: "Se cerró la sesión en sus otros dispositivos.",
  signOutEverywhere: "Cerrar sesión en todos",
};

export const devices: Texts["devices"] = {
  browserOn: (browser, system) => `${browser} en ${system}`,
  flutterApp: "Aplicación Flutter",
  androidApp: "Aplicación Android",
  appleApp: "Aplicación Apple",
  unknown: "Dispositivo desconocido",
};
