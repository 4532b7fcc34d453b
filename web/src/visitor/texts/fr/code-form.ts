import type { Texts } from "..";

export const codeForm: Texts["codeForm"] = {
  fromMail: "Code reçu par e-mail",
  stillWrong: "Toujours incorrect ? Demandez un nouveau code ci-dessous.",
  checking: "Vérification…",
};
