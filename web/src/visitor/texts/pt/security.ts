import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const security: Texts["security"] = {
  title: "Verificação em duas etapas",
  lead: "Uma segunda etapa ao entrar protege sua conta mesmo que alguém descubra sua senha.",
  loading: "Carregando suas segundas etapas",

  none: "Você ainda não tem uma segunda etapa.",
  why:
    "Com um aplicativo autenticador no seu telefone, entrar exige sua senha e um código que muda a cada 30 " +
    "segundos. Ninguém entra só com a senha.",
  yours: "Suas segundas etapas",
  onlyOne: "Você tem uma segunda etapa. Adicione outra, caso a perca.",
  list: "Segundas etapas",
  unfinished: "Configuração inacabada",
  unfinishedLead: "Estas ainda não protegem você.",
  isUnfinished: "Inacabada",
  turnedOff: "Este método está desativado.",
  addApp: "Configurar um aplicativo autenticador",
  addPhone: "Adicionar um telefone",
  addKey: "Adicionar uma chave de segurança",

  finish: "Concluir",
  finishOf: (name) => `Concluir a configuração de ${name}`,
  theApp: "o aplicativo",
  finishTitle: "Concluir a configuração",
  finishLead:
    "Digite o código que seu aplicativo mostra. Se você nunca escaneou a imagem, remova esta entrada e comece " +
    "novamente.",

  added: (day) => rich`Adicionado em ${day}`,
  used: (time) => rich`Usado ${time}`,
  remove: "Remover",
  removeOf: (name) => `Remover ${name}`,
  removeTitle: (name) => `Remover ${name}?`,
  removeText: "Esta etapa não será mais pedida quando você entrar.",
  removeLast: "É a última: sua senha sozinha abrirá sua conta.",
  removing: "Removendo…",
  removed: (name) => `${name} foi removido.`,

  keyHint: "Para que você possa diferenciar suas chaves.",
  waitingForKey: "Aguardando sua chave…",
  keyAdded: "Chave de segurança adicionada.",

  back: "Voltar",
};

export const newApp: Texts["newApp"] = {
  title: "Configurar um aplicativo autenticador",
  name: "1. Dê um nome",
  nameLead: "Para que você possa diferenciar seus dispositivos depois.",
  nameForm: "Nome do aplicativo",
  preparing: "Preparando…",

  scan: "2. Escaneie a imagem",
  scanLead: "Abra seu aplicativo autenticador, adicione uma conta e aponte a câmera para cá.",
  picture: "Código QR para o seu aplicativo autenticador",
  cannotScan: (account, service) =>
    `Não consegue escanear? Digite esta chave no aplicativo para ${account} em ${service}:`,
  yourAccount: "sua conta",
  copyKey: "Copiar a chave",
  openApp: "Abrir no aplicativo",

  type: "3. Digite o código",
  typeLead: "O aplicativo agora mostra seis dígitos para esta conta.",
  turnOn: "Ativar",
  cancelling: "Cancelando…",

  done: "A verificação em duas etapas está ativada",
  doneText:
    "A partir de agora, entrar exige um código do seu aplicativo. Dispositivos que entraram só com sua senha " +
    "foram desconectados.",
  seeAll: "Ver suas segundas etapas, ou adicionar outra",
};
