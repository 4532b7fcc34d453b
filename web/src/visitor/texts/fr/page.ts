import type { Texts } from "..";

export const page: Texts["page"] = {
  noScriptTitle: "Ces pages nécessitent JavaScript",
  noScriptText:
    "La connexion et la gestion de votre compte se font dans votre navigateur. " +
    "Veuillez activer JavaScript pour ce site, puis recharger la page.",
};
