import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signInCode: Texts["signInCode"] = {
  title: "Iniciar sesión con un código",
  leadEmail: "Enviaremos un enlace y un código a su correo electrónico.",
  leadPhone: "Enviaremos un código a su teléfono.",
  form: "Adónde enviar el código",
  byEmail: "Usar mi correo electrónico",
  byPhone: "Usar mi teléfono",

  checkMail: "Revise su correo",
  checkPhone: "Revise su teléfono",
  sentToEmail: (address, digits) =>
    rich`Si existe una cuenta, hemos enviado un enlace y un código de ${digits} dígitos a ${address}.`,
  sentToPhone: (number) => rich`Si existe una cuenta, hemos enviado un código al ${number}.`,
  otherAddress: "Usar otra dirección",
  otherNumber: "Usar otro número",
  submit: "Iniciar sesión",
};
