import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const deleteAccount: Texts["deleteAccount"] = {
  title: "Excluir sua conta",
  lead: "Isso não pode ser desfeito.",
  whatHappens: "O que acontece",
  consequences: [
    "Você será desconectado de todos os dispositivos.",
    "Seu perfil, suas contas conectadas e suas segundas etapas serão excluídos.",
    "O que pertence à sua conta neste serviço pode ser excluído com ela.",
    "Ninguém poderá restaurá-la, nem mesmo o operador.",
  ],
  keyword: "excluir",
  typeToConfirm: (name) => rich`Digite ${name} para confirmar`,
  notConfirmed: (name) => `Digite ${name} para confirmar.`,
  submit: "Excluir minha conta",
  deleting: "Excluindo…",
};
