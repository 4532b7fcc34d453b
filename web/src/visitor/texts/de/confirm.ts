import type { Texts } from "..";

const signIn = {
  title: "Anmelden",
  lead: "Fahren Sie fort, um sich auf diesem Gerät anzumelden.",
  button: "Anmelden",
};

export const confirm: Texts["confirm"] = {
  kinds: {
    signup: {
      title: "E-Mail-Adresse bestätigen",
      lead: "Ein Klick, und Ihr Konto ist bereit.",
      button: "Adresse bestätigen",
    },
    email: signIn,
    magiclink: signIn,
    invite: {
      title: "Einladung annehmen",
      lead: "Fahren Sie fort, um Ihr Konto einzurichten.",
      button: "Einladung annehmen",
    },
    recovery: {
      title: "Passwort zurücksetzen",
      lead: "Fahren Sie fort, um ein neues Passwort zu wählen.",
      button: "Weiter",
    },
    email_change: {
      title: "E-Mail-Adresse bestätigen",
      lead: "Fahren Sie fort, um ab jetzt diese Adresse zu verwenden.",
      button: "Adresse bestätigen",
    },
  },
  confirming: "Wird bestätigt …",
  emailConfirmed: "Ihre E-Mail-Adresse ist bestätigt.",
  oneMoreStep: "Noch ein Schritt",
  halfDone:
    "Eine Bestätigung ist da. Öffnen Sie nun den Link, den wir an Ihre andere Adresse geschickt haben.",

  expired: "Dieser Link gilt nicht mehr",
  newResetLink: "Neuen Link zum Zurücksetzen anfordern",
  newInvitation: "Bitten Sie die Person, die Sie eingeladen hat, um eine neue Einladung.",
  changeEmailAgain: "E-Mail-Adresse noch einmal ändern",
  newLinkOrCode: "Neuen Link oder Code anfordern",
  newLink: "Neuen Link anfordern",
  sendNewLink: "Neuen Link senden",

  incomplete: "Dieser Link ist unvollständig",
  incompleteLead:
    "Manche E-Mail-Programme kürzen lange Links. Öffnen Sie ihn noch einmal aus der E-Mail, oder kopieren " +
    "Sie die ganze Adresse.",
  toSignIn: "Zur Anmeldung",
};
