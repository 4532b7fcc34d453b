import type { Texts } from "..";

export const changePassword: Texts["changePassword"] = {
  title: "Alterar sua senha",
  titleFirst: "Definir uma senha",
  current: "Senha atual",
  consequences: "Seus outros dispositivos serão desconectados, e os links já enviados deixarão de funcionar.",
  save: "Salvar senha",
  notNow: "Agora não",
};
