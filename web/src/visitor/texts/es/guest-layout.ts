import type { Texts } from "..";

export const guestLayout: Texts["guestLayout"] = {
  support: "Soporte",
  terms: "Condiciones",
  privacy: "Privacidad",
  signedIn: "Ha iniciado sesión.",
  wentWrong: "Algo salió mal",
  notLoaded: "No se pudo cargar esta página",
  notLoadedLead: "Compruebe su conexión y vuelva a cargarla.",
  loadAgain: "Volver a cargar",
  noPage: "Esta página no existe",
  noPageLead: "Puede que la dirección esté mal escrita o que la página se haya movido.",
  toAccount: "Ir a su cuenta",
};
