import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const recovery: Texts["recovery"] = {
  forgot: "¿Olvidó su contraseña?",
  forgotLead: "Indíquenos su correo electrónico y le enviaremos un enlace para elegir una nueva.",
  form: "Restablecer su contraseña",
  send: "Enviar el enlace",

  checkMail: "Revise su correo",
  checkMailLead: "Si existe una cuenta, hemos enviado un enlace.",
  sentTo: (address) =>
    rich`Si existe una cuenta para ${address}, hemos enviado un enlace y un código para restablecer su contraseña.`,
  otherAddress: "Usar otra dirección",

  needsLink: "Esta página necesita un enlace para restablecer la contraseña.",
  needsLinkLead: "Solicite uno y ábralo desde su correo.",
  changeInstead: "Cambiar su contraseña",
  askForLink: "Restablecer su contraseña",
  oneMoreStep: "Un paso más",
  oneMoreStepLead: "Confirme que es usted antes de elegir una contraseña nueva.",

  choose: "Elija una contraseña",
  chooseLead: (address) => `Para ${address}. Se cerrará la sesión en sus otros dispositivos.`,
  keepCurrent: "Conservar la contraseña actual",
  save: "Guardar la contraseña",
};
