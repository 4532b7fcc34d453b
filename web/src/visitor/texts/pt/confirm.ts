import type { Texts } from "..";

const signIn = {
  title: "Entrar",
  lead: "Continue para entrar neste dispositivo.",
  button: "Entrar",
};

export const confirm: Texts["confirm"] = {
  kinds: {
    signup: {
      title: "Confirme seu e-mail",
      lead: "Um clique, e sua conta está pronta.",
      button: "Confirmar e-mail",
    },
    email: signIn,
    magiclink: signIn,
    invite: {
      title: "Aceite seu convite",
      lead: "Continue para configurar sua conta.",
      button: "Aceitar convite",
    },
    recovery: {
      title: "Redefinir sua senha",
      lead: "Continue para escolher uma nova senha.",
      button: "Continuar",
    },
    email_change: {
      title: "Confirme seu e-mail",
      lead: "Continue para usar este endereço a partir de agora.",
      button: "Confirmar e-mail",
    },
  },
  confirming: "Confirmando…",
  emailConfirmed: "Seu e-mail está confirmado.",
  oneMoreStep: "Mais uma etapa",
  halfDone: "Uma confirmação recebida. Agora abra o link que enviamos para o seu outro endereço.",

  expired: "Este link não funciona mais",
  newResetLink: "Pedir um novo link de redefinição",
  newInvitation: "Peça outro convite a quem convidou você.",
  changeEmailAgain: "Alterar seu e-mail novamente",
  newLinkOrCode: "Pedir um novo link ou código",
  newLink: "Pedir um novo link",
  sendNewLink: "Enviar um novo link",

  incomplete: "Este link está incompleto",
  incompleteLead:
    "Alguns programas de e-mail cortam links longos. Abra-o novamente a partir do e-mail, ou copie o endereço " +
    "inteiro.",
  toSignIn: "Ir para o acesso",
};
