import type { Texts } from "..";

export const accountLayout: Texts["accountLayout"] = {
  skip: "Ir para o conteúdo",
  navigation: "Conta",
  profile: "Perfil",
  password: "Senha",
  security: "Verificação em duas etapas",
  identities: "Contas conectadas",
  sessions: "Dispositivos",
  delete: "Excluir a conta",
  weakPassword: "Sua senha é mais fraca do que exigimos hoje.",
  chooseStronger: "Escolher uma mais forte",
  notNow: "Agora não",
  toProfile: "Ir para o seu perfil",
};
