import type { Texts } from "..";

export const passkeys: Texts["passkeys"] = {
  title: "Llaves de acceso",
  lead: "Inicie sesión con su huella, su rostro o el PIN de su dispositivo en lugar de una contraseña.",
  loading: "Cargando sus llaves de acceso",
  none: "Aún no tiene ninguna llave de acceso.",
  passkey: "Llave de acceso",
  add: "Añadir una llave de acceso",
  waitingForDevice: "Esperando a su dispositivo…",
  added: "Llave de acceso añadida.",

  rename: "Cambiar nombre",
  renameOf: (name) => `Cambiar el nombre de ${name}`,
  renameTitle: "Cambiar el nombre de la llave de acceso",
  save: "Guardar",
  renamed: "Nombre cambiado.",
  removeText: "Ya no podrá iniciar sesión con ella. Puede que siga en su dispositivo; quítela también allí.",
};
