import type { Texts } from "..";

const signIn = {
  title: "Iniciar sesión",
  lead: "Continúe para iniciar sesión en este dispositivo.",
  button: "Iniciar sesión",
};

export const confirm: Texts["confirm"] = {
  kinds: {
    signup: {
      title: "Confirme su correo electrónico",
      lead: "Un clic y su cuenta estará lista.",
      button: "Confirmar el correo",
    },
    email: signIn,
    magiclink: signIn,
    invite: {
      title: "Acepte su invitación",
      lead: "Continúe para configurar su cuenta.",
      button: "Aceptar la invitación",
    },
    recovery: {
      title: "Restablecer su contraseña",
      lead: "Continúe para elegir una contraseña nueva.",
      button: "Continuar",
    },
    email_change: {
      title: "Confirme su correo electrónico",
      lead: "Continúe para usar esta dirección a partir de ahora.",
      button: "Confirmar el correo",
    },
  },
  confirming: "Confirmando…",
  emailConfirmed: "Su correo electrónico está confirmado.",
  oneMoreStep: "Un paso más",
  halfDone: "Confirmación recibida. Ahora abra el enlace que enviamos a su otra dirección.",

  expired: "Este enlace ya no funciona",
  newResetLink: "Solicitar un enlace nuevo para restablecerla",
  newInvitation: "Pida otra invitación a quien le invitó.",
  changeEmailAgain: "Cambiar de nuevo su correo electrónico",
  newLinkOrCode: "Solicitar un enlace o código nuevo",
  newLink: "Solicitar un enlace nuevo",
  sendNewLink: "Enviar un enlace nuevo",

  incomplete: "Este enlace está incompleto",
  incompleteLead:
    "Algunos programas de correo cortan los enlaces largos. Ábralo de nuevo desde el correo, o copie la " +
    "dirección completa.",
  toSignIn: "Ir al inicio de sesión",
};
