import type { Texts } from "..";
import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("pt");

export const common: Texts["common"] = {
  yourAccount: "Sua conta",

  cancel: "Cancelar",
  close: "Fechar",
  continue: "Continuar",
  contactSupport: "Falar com o suporte",
  copied: "Copiado",
  notCopied: "Não copiado: selecione o texto",
  copy: "Copiar",
  loading: "Carregando",
  or: "ou",
  saving: "Salvando…",
  sending: "Enviando…",
  signOut: "Sair",
  signingOut: "Saindo…",
  tryAgain: "Tentar novamente",

  errorMark: "Erro: ",
  checkFields: (count) =>
    `Verifique ${plural(count, { one: "este campo", other: `estes ${count} campos` })}:`,

  leaveTitle: "Sair sem salvar?",
  leaveText: "Suas alterações não foram salvas. Se você sair agora, elas serão perdidas.",
  stay: "Ficar aqui",
  leave: "Sair sem salvar",

  backTo: (application) => `Voltar para ${application}`,
  theApplication: "o aplicativo",

  code: "Código",
  email: "E-mail",
  name: "Nome",
  password: "Senha",
  newPassword: "Nova senha",
  optional: (label) => `${label} (opcional)`,
  showField: (label) => `Mostrar ${label.toLowerCase()}`,
  showPassword: "Mostrar senha",
  isMet: "(atendido)",
  isMissing: "(falta)",

  country: "País",
  chooseCountry: "Escolha, ou digite o código abaixo",
  phoneNumber: "Número de telefone",
  phoneExample: "+55 11 91234 5678",

  lastUsed: "Último uso",
  sendCode: "Enviar código",
  sendAgain: "Enviar novamente",
  sendNewCode: "Enviar um novo código",
  waitToSend: (label, seconds) => `${label} em ${seconds} s`,
  sent: "Enviado.",
  canAskAgain: (seconds) =>
    `Você pode pedir novamente em ${seconds} ${plural(seconds, { one: "segundo", other: "segundos" })}.`,

  passwordChanged: "Senha alterada. Seus outros dispositivos foram desconectados.",
  twoStepOn: "A verificação em duas etapas está ativada.",
};
