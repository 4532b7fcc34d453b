import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signUp: Texts["signUp"] = {
  title: "Crear una cuenta",
  titleUpgrade: "Conserve su cuenta",
  leadUpgrade: "Añada un correo electrónico, para poder volver a lo que tiene aquí.",
  closed: "El registro está cerrado.",
  closedLead: "Por el momento no se pueden crear cuentas nuevas aquí.",
  haveAccount: (link) => rich`¿Ya tiene una cuenta? ${link("Iniciar sesión")}`,

  signInInstead: "Iniciar sesión",
  resetInstead: "Restablecer su contraseña",
  submit: "Crear la cuenta",
  creating: "Creando su cuenta…",
  consent: "Acepto las condiciones de este servicio",
  consentTerms: (terms) => rich`Acepto las ${terms("condiciones")}`,
  consentPrivacy: (privacy) => rich`Acepto la ${privacy("política de privacidad")}`,
  consentBoth: (terms, privacy) =>
    rich`Acepto las ${terms("condiciones")} y la ${privacy("política de privacidad")}`,

  checkMail: "Revise su correo",
  checkMailLead: "Le hemos enviado un enlace. Ábralo para confirmar su correo electrónico.",
  sentTo: (address) =>
    rich`Hemos enviado un enlace y un código a ${address}. Abra el enlace, o escriba aquí el código.`,
  wrongAddress: "¿Dirección equivocada?",
  confirm: "Confirmar el correo",
  openMailApp: "Abrir la aplicación de correo",
};
