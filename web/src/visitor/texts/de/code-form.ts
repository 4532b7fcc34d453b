import type { Texts } from "..";

export const codeForm: Texts["codeForm"] = {
  fromMail: "Code aus der E-Mail",
  stillWrong: "Stimmt er noch immer nicht? Fordern Sie unten einen neuen an.",
  checking: "Wird geprüft …",
};
