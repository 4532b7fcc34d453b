import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const recovery: Texts["recovery"] = {
  forgot: "Esqueceu sua senha?",
  forgotLead: "Informe seu e-mail, e enviaremos um link para você escolher uma nova.",
  form: "Redefinir sua senha",
  send: "Enviar o link",

  checkMail: "Verifique seu e-mail",
  checkMailLead: "Se houver uma conta, enviamos um link.",
  sentTo: (address) =>
    rich`Se houver uma conta para ${address}, enviamos um link e um código para redefinir a senha.`,
  otherAddress: "Usar outro endereço",

  needsLink: "Esta página precisa de um link de redefinição.",
  needsLinkLead: "Peça um, e abra-o a partir do seu e-mail.",
  changeInstead: "Alterar sua senha",
  askForLink: "Redefinir sua senha",
  oneMoreStep: "Mais uma etapa",
  oneMoreStepLead: "Confirme que é você antes de escolher uma nova senha.",

  choose: "Escolha uma senha",
  chooseLead: (address) => `Para ${address}. Seus outros dispositivos serão desconectados.`,
  keepCurrent: "Manter a senha atual",
  save: "Salvar senha",
};
