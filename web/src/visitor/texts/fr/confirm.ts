import type { Texts } from "..";

const signIn = {
  title: "Se connecter",
  lead: "Continuez pour vous connecter sur cet appareil.",
  button: "Se connecter",
};

export const confirm: Texts["confirm"] = {
  kinds: {
    signup: {
      title: "Confirmer votre adresse e-mail",
      lead: "Un clic, et votre compte est prêt.",
      button: "Confirmer l’adresse",
    },
    email: signIn,
    magiclink: signIn,
    invite: {
      title: "Accepter votre invitation",
      lead: "Continuez pour créer votre compte.",
      button: "Accepter l’invitation",
    },
    recovery: {
      title: "Réinitialiser votre mot de passe",
      lead: "Continuez pour choisir un nouveau mot de passe.",
      button: "Continuer",
    },
    email_change: {
      title: "Confirmer votre adresse e-mail",
      lead: "Continuez pour utiliser désormais cette adresse.",
      button: "Confirmer l’adresse",
    },
  },
  confirming: "Confirmation…",
  emailConfirmed: "Votre adresse e-mail est confirmée.",
  oneMoreStep: "Encore une étape",
  halfDone: "Une confirmation reçue. Ouvrez maintenant le lien envoyé à votre autre adresse.",

  expired: "Ce lien ne fonctionne plus",
  newResetLink: "Demander un nouveau lien de réinitialisation",
  newInvitation: "Demandez une nouvelle invitation à la personne qui vous a invité.",
  changeEmailAgain: "Modifier à nouveau votre adresse e-mail",
  newLinkOrCode: "Demander un nouveau lien ou code",
  newLink: "Demander un nouveau lien",
  sendNewLink: "Envoyer un nouveau lien",

  incomplete: "Ce lien est incomplet",
  incompleteLead:
    "Certaines messageries coupent les liens longs. Ouvrez-le à nouveau depuis l’e-mail, ou copiez l’adresse " +
    "entière.",
  toSignIn: "Aller à la connexion",
};
