import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signInCode: Texts["signInCode"] = {
  title: "Entrar com um código",
  leadEmail: "Enviaremos um link e um código para o seu e-mail.",
  leadPhone: "Enviaremos um código para o seu telefone.",
  form: "Para onde enviar o código",
  byEmail: "Usar meu e-mail",
  byPhone: "Usar meu telefone",

  checkMail: "Verifique seu e-mail",
  checkPhone: "Verifique seu telefone",
  sentToEmail: (address, digits) =>
    rich`Se houver uma conta, enviamos um link e um código de ${digits} dígitos para ${address}.`,
  sentToPhone: (number) => rich`Se houver uma conta, enviamos um código para ${number}.`,
  otherAddress: "Usar outro endereço",
  otherNumber: "Usar outro número",
  submit: "Entrar",
};
