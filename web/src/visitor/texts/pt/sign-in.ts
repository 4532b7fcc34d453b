import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signIn: Texts["signIn"] = {
  title: "Entrar",
  reasons: {
    expired: "Você foi desconectado. Entre novamente.",
    revoked: "Este dispositivo foi desconectado.",
    signed_out: "Você saiu.",
  },
  newHere: (link) => rich`Primeira vez aqui? ${link("Criar uma conta")}`,
  withCode: "Entrar com um código",
  withSso: "Usar login único",
  otherWay: "Entrar de outra forma",
  back: "Voltar para o acesso",

  form: "Entrar com sua senha",
  forgot: "Esqueceu a senha?",
  resendConfirmation: "Enviar a confirmação novamente",
  submit: "Entrar",
  signingIn: "Entrando…",

  withPasskey: "Usar uma chave de acesso",
  waitingForPasskey: "Aguardando sua chave de acesso…",
  noPasskeyUsed: "Nenhuma chave de acesso foi usada.",

  suspended: "Esta conta está suspensa",
};

export const providers: Texts["providers"] = {
  continueWith: (provider) => `Continuar com ${provider}`,
  opening: (provider) => `Abrindo ${provider}…`,
};

export const singleSignOn: Texts["singleSignOn"] = {
  title: "Login único",
  lead: "Entre com sua organização.",
  workEmail: "E-mail de trabalho",
  opening: "Abrindo…",
};
