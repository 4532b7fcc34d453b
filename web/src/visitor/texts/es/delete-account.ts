import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const deleteAccount: Texts["deleteAccount"] = {
  title: "Eliminar su cuenta",
  lead: "Esta acción no se puede deshacer.",
  whatHappens: "Qué ocurrirá",
  consequences: [
    "Se cerrará su sesión en todos los dispositivos.",
    "Se eliminarán su perfil, sus cuentas vinculadas y sus segundos pasos.",
    "Lo que pertenece a su cuenta en este servicio podrá eliminarse con ella.",
    "Nadie podrá restaurarla, tampoco el operador.",
  ],
  keyword: "eliminar",
  typeToConfirm: (name) => rich`Escriba ${name} para confirmar`,
  notConfirmed: (name) => `Escriba ${name} para confirmar.`,
  submit: "Eliminar mi cuenta",
  deleting: "Eliminando…",
};
