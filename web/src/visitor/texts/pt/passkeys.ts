import type { Texts } from "..";

export const passkeys: Texts["passkeys"] = {
  title: "Chaves de acesso",
  lead: "Entre com sua impressão digital, seu rosto ou o PIN do seu dispositivo em vez de uma senha.",
  loading: "Carregando suas chaves de acesso",
  none: "Você ainda não tem uma chave de acesso.",
  passkey: "Chave de acesso",
  add: "Adicionar uma chave de acesso",
  waitingForDevice: "Aguardando seu dispositivo…",
  added: "Chave de acesso adicionada.",

  rename: "Renomear",
  renameOf: (name) => `Renomear ${name}`,
  renameTitle: "Renomear a chave de acesso",
  save: "Salvar",
  renamed: "Nome alterado.",
  removeText:
    "Você não poderá mais entrar com ela. Ela pode continuar no seu dispositivo; remova-a também de lá.",
};
