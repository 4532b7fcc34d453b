import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const security: Texts["security"] = {
  title: "Verificación en dos pasos",
  lead: "Un segundo paso al iniciar sesión protege su cuenta aunque alguien averigüe su contraseña.",
  loading: "Cargando sus segundos pasos",

  none: "Aún no tiene ningún segundo paso.",
  why:
    "Con una aplicación de autenticación en su teléfono, para iniciar sesión hacen falta su contraseña y un " +
    "código que cambia cada 30 segundos. Nadie entra solo con la contraseña.",
  yours: "Sus segundos pasos",
  onlyOne: "Tiene un solo segundo paso. Añada otro, por si lo pierde.",
  list: "Segundos pasos",
  unfinished: "Configuración sin terminar",
  unfinishedLead: "Estos aún no le protegen.",
  isUnfinished: "Sin terminar",
  turnedOff: "Este método está desactivado.",
  addApp: "Configurar una aplicación de autenticación",
  addPhone: "Añadir un teléfono",
  addKey: "Añadir una llave de seguridad",

  finish: "Terminar",
  finishOf: (name) => `Terminar de configurar ${name}`,
  theApp: "la aplicación",
  finishTitle: "Terminar la configuración",
  finishLead:
    "Escriba el código que muestra su aplicación. Si nunca escaneó la imagen, quite esta entrada y empiece de " +
    "nuevo.",

  added: (day) => rich`Añadido el ${day}`,
  used: (time) => rich`Usado ${time}`,
  remove: "Quitar",
  removeOf: (name) => `Quitar ${name}`,
  removeTitle: (name) => `¿Quitar ${name}?`,
  removeText: "Ya no se le pedirá al iniciar sesión.",
  removeLast: "Es el último: su contraseña sola abrirá su cuenta.",
  removing: "Quitando…",
  removed: (name) => `Se ha quitado ${name}.`,

  keyHint: "Para que pueda distinguir sus llaves.",
  waitingForKey: "Esperando a su llave…",
  keyAdded: "Llave de seguridad añadida.",

  back: "Volver",
};

export const newApp: Texts["newApp"] = {
  title: "Configurar una aplicación de autenticación",
  name: "1. Póngale un nombre",
  nameLead: "Para que más adelante pueda distinguir sus dispositivos.",
  nameForm: "Nombre de la aplicación",
  preparing: "Preparando…",

  scan: "2. Escanee la imagen",
  scanLead: "Abra su aplicación de autenticación, añada una cuenta y apunte la cámara aquí.",
  picture: "Código QR para su aplicación de autenticación",
  cannotScan: (account, service) =>
    `¿No puede escanearla? Escriba esta clave en la aplicación para ${account} en ${service}:`,
  yourAccount: "su cuenta",
  copyKey: "Copiar la clave",
  openApp: "Abrir en la aplicación",

  type: "3. Escriba el código",
  typeLead: "La aplicación muestra ahora seis dígitos para esta cuenta.",
  turnOn: "Activar",
  cancelling: "Cancelando…",

  done: "La verificación en dos pasos está activada",
  doneText:
    "A partir de ahora, al iniciar sesión se pide un código de su aplicación. Se cerró la sesión en los " +
    "dispositivos que solo habían usado su contraseña.",
  seeAll: "Ver sus segundos pasos, o añadir otro",
};
