import type { Texts } from "..";

export const page: Texts["page"] = {
  noScriptTitle: "Estas páginas precisam de JavaScript",
  noScriptText:
    "Entrar e gerenciar sua conta acontece no seu navegador. " +
    "Ative o JavaScript para este site e carregue a página novamente.",
};
