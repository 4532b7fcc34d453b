import type { Texts } from "..";
import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("es");

export const common: Texts["common"] = {
  yourAccount: "Su cuenta",

  cancel: "Cancelar",
  close: "Cerrar",
  continue: "Continuar",
  contactSupport: "Contactar con soporte",
  copied: "Copiado",
  notCopied: "No se copió: selecciónelo",
  copy: "Copiar",
  loading: "Cargando",
  or: "o",
  saving: "Guardando…",
  sending: "Enviando…",
  signOut: "Cerrar sesión",
  signingOut: "Cerrando sesión…",
  tryAgain: "Reintentar",

  errorMark: "Error: ",
  checkFields: (count) => `Revise ${plural(count, { one: "este campo", other: `estos ${count} campos` })}:`,

  leaveTitle: "¿Salir sin guardar?",
  leaveText: "Sus cambios no se han guardado. Si sale ahora, se perderán.",
  stay: "Quedarse aquí",
  leave: "Salir sin guardar",

  backTo: (application) => `Volver a ${application}`,
  theApplication: "la aplicación",

  code: "Código",
  email: "Correo electrónico",
  name: "Nombre",
  password: "Contraseña",
  newPassword: "Contraseña nueva",
  optional: (label) => `${label} (opcional)`,
  showField: (label) => `Mostrar ${label.toLowerCase()}`,
  showPassword: "Mostrar contraseña",
  isMet: "(cumplido)",
  isMissing: "(falta)",

  country: "País",
  chooseCountry: "Elija, o escriba el prefijo abajo",
  phoneNumber: "Número de teléfono",
  phoneExample: "+34 612 345 678",

  lastUsed: "Último uso",
  sendCode: "Enviar código",
  sendAgain: "Enviar de nuevo",
  sendNewCode: "Enviar un código nuevo",
  waitToSend: (label, seconds) => `${label} en ${seconds} s`,
  sent: "Enviado.",
  canAskAgain: (seconds) =>
    `Puede volver a solicitarlo en ${seconds} ${plural(seconds, { one: "segundo", other: "segundos" })}.`,

  passwordChanged: "Contraseña cambiada. Se cerró la sesión en sus otros dispositivos.",
  twoStepOn: "La verificación en dos pasos está activada.",
};
