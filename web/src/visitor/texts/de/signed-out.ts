import type { Texts } from "..";

export const signedOut: Texts["signedOut"] = {
  title: "Sie sind abgemeldet",
  lead: "Ihre Sitzung auf diesem Gerät ist beendet.",
  signInAgain: "Erneut anmelden",
};

export const accountDeleted: Texts["accountDeleted"] = {
  title: "Ihr Konto ist gelöscht",
  lead: (service) => `Danke, dass Sie bei ${service} waren.`,
  nothingLeft: "Auf diesem Gerät ist nichts davon übrig. Sie können diese Seite schließen.",
};
