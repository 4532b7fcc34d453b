import type { Texts } from "..";

export const codeForm: Texts["codeForm"] = {
  fromMail: "Código do e-mail",
  stillWrong: "Ainda não está certo? Peça um novo código abaixo.",
  checking: "Verificando…",
};
