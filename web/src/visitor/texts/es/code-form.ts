import type { Texts } from "..";

export const codeForm: Texts["codeForm"] = {
  fromMail: "Código del correo",
  stillWrong: "¿Sigue sin ser correcto? Solicite abajo un código nuevo.",
  checking: "Comprobando…",
};
