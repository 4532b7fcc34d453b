import type { Texts } from "..";

export const page: Texts["page"] = {
  noScriptTitle: "Estas páginas necesitan JavaScript",
  noScriptText:
    "El inicio de sesión y la gestión de su cuenta se realizan en su navegador. " +
    "Active JavaScript para este sitio y vuelva a cargar la página.",
};
