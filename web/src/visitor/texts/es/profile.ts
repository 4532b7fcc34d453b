import type { Texts } from "..";

export const profile: Texts["profile"] = {
  title: "Perfil",
  lead: "Lo que este servicio sabe de usted.",
  loading: "Cargando su perfil",
  noName: "Aún sin nombre",

  details: "Sus datos",
  detailsLead: "Añada su nombre, para que le reconozcan.",
  save: "Guardar los cambios",
  saved: "Guardado.",
  unsaved: "Tiene cambios sin guardar.",

  account: "Cuenta",
  email: "Correo electrónico",
  noEmail: "Ninguno",
  isVerified: "Verificado",
  isNotVerified: "Sin verificar",
  waitingFor: (address) => `A la espera de la confirmación de ${address}.`,
  change: "Cambiar",
  phone: "Teléfono",
  memberSince: "Miembro desde",
  lastSignIn: "Último inicio de sesión",
  userId: "ID de usuario",
  copyUserId: "Copiar el ID de usuario",
};
