import type { Texts } from "..";

export const accountLayout: Texts["accountLayout"] = {
  skip: "Ir al contenido",
  navigation: "Cuenta",
  profile: "Perfil",
  password: "Contraseña",
  security: "Verificación en dos pasos",
  identities: "Cuentas vinculadas",
  sessions: "Dispositivos",
  delete: "Eliminar la cuenta",
  weakPassword: "Su contraseña es menos segura de lo que exigimos hoy.",
  chooseStronger: "Elegir una más segura",
  notNow: "Ahora no",
  toProfile: "Ir a su perfil",
};
