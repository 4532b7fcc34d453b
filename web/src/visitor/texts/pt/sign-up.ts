import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signUp: Texts["signUp"] = {
  title: "Criar uma conta",
  titleUpgrade: "Mantenha sua conta",
  leadUpgrade: "Adicione um e-mail, para poder voltar ao que você tem aqui.",
  closed: "Os cadastros estão fechados.",
  closedLead: "No momento, não é possível criar novas contas aqui.",
  haveAccount: (link) => rich`Já tem uma conta? ${link("Entrar")}`,

  signInInstead: "Entrar",
  resetInstead: "Redefinir sua senha",
  submit: "Criar conta",
  creating: "Criando sua conta…",
  consent: "Aceito os termos deste serviço",
  consentTerms: (terms) => rich`Aceito os ${terms("termos")}`,
  consentPrivacy: (privacy) => rich`Aceito a ${privacy("política de privacidade")}`,
  consentBoth: (terms, privacy) =>
    rich`Aceito os ${terms("termos")} e a ${privacy("política de privacidade")}`,

  checkMail: "Verifique seu e-mail",
  checkMailLead: "Enviamos um link para você. Abra-o para confirmar seu e-mail.",
  sentTo: (address) =>
    rich`Enviamos um link e um código para ${address}. Abra o link, ou digite o código aqui.`,
  wrongAddress: "Endereço errado?",
  confirm: "Confirmar e-mail",
  openMailApp: "Abrir o aplicativo de e-mail",
};
