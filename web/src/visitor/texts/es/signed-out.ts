import type { Texts } from "..";

export const signedOut: Texts["signedOut"] = {
  title: "Ha cerrado la sesión",
  lead: "Su sesión en este dispositivo ha terminado.",
  signInAgain: "Iniciar sesión de nuevo",
};

export const accountDeleted: Texts["accountDeleted"] = {
  title: "Su cuenta se ha eliminado",
  lead: (service) => `Gracias por haber estado en ${service}.`,
  nothingLeft: "No queda nada de ella en este dispositivo. Puede cerrar esta página.",
};
