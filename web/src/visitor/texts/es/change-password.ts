import type { Texts } from "..";

export const changePassword: Texts["changePassword"] = {
  title: "Cambiar su contraseña",
  titleFirst: "Crear una contraseña",
  current: "Contraseña actual",
  consequences:
    "Se cerrará la sesión en sus otros dispositivos y los enlaces anteriores dejarán de funcionar.",
  save: "Guardar la contraseña",
  notNow: "Ahora no",
};
