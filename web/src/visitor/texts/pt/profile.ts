import type { Texts } from "..";

export const profile: Texts["profile"] = {
  title: "Perfil",
  lead: "O que este serviço sabe sobre você.",
  loading: "Carregando seu perfil",
  noName: "Ainda sem nome",

  details: "Seus dados",
  detailsLead: "Adicione seu nome, para que as pessoas reconheçam você.",
  save: "Salvar alterações",
  saved: "Salvo.",
  unsaved: "Você tem alterações não salvas.",

  account: "Conta",
  email: "E-mail",
  noEmail: "Nenhum",
  isVerified: "Verificado",
  isNotVerified: "Não verificado",
  waitingFor: (address) => `Aguardando a confirmação de ${address}.`,
  change: "Alterar",
  phone: "Telefone",
  memberSince: "Membro desde",
  lastSignIn: "Último acesso",
  userId: "ID do usuário",
  copyUserId: "Copiar o ID do usuário",
};
