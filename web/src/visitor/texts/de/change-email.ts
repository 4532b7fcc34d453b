import type { Texts } from "..";

export const changeEmail: Texts["changeEmail"] = {
  title: "E-Mail-Adresse ändern",
  loading: "Ihre Adresse wird geladen",
  back: "Zurück zu Ihrem Profil",

  newAddress: "Neue Adresse",
  current: (address) => `Ihre jetzige Adresse ist ${address}.`,
  newEmail: "Neue E-Mail-Adresse",
  isYours: "Das ist bereits Ihre Adresse.",
  submit: "Adresse ändern",
  mailSent: "Wir haben Ihnen eine E-Mail geschickt.",
  changed: "Ihre E-Mail-Adresse ist geändert.",

  confirmBoth: "Bestätigen Sie von beiden Adressen aus",
  confirmNew: "Bestätigen Sie von der neuen Adresse aus",
  sentToBoth: (pending, current) =>
    `Wir haben je eine E-Mail an ${pending} und an ${current} geschickt. Öffnen Sie den Link in beiden, ` +
    `oder geben Sie den Code ein, der an ${pending} ging. Um Ihre Adresse zu behalten, tun Sie einfach nichts.`,
  sentToNew: (pending) =>
    `Wir haben eine E-Mail an ${pending} geschickt. Öffnen Sie den Link darin, oder geben Sie den Code ein, ` +
    `der an ${pending} ging. Um Ihre Adresse zu behalten, tun Sie einfach nichts.`,
  halfDone:
    "Eine Bestätigung ist da. Öffnen Sie nun den Link, den wir an Ihre andere Adresse geschickt haben.",
  confirm: "Bestätigen",
};
