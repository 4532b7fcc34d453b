import type { Texts } from "..";

export const passkeys: Texts["passkeys"] = {
  title: "Passkeys",
  lead: "Melden Sie sich mit Fingerabdruck, Gesicht oder der PIN Ihres Geräts an statt mit einem Passwort.",
  loading: "Ihre Passkeys werden geladen",
  none: "Sie haben noch keinen Passkey.",
  passkey: "Passkey",
  add: "Passkey hinzufügen",
  waitingForDevice: "Warten auf Ihr Gerät …",
  added: "Passkey hinzugefügt.",

  rename: "Umbenennen",
  renameOf: (name) => `${name} umbenennen`,
  renameTitle: "Passkey umbenennen",
  save: "Speichern",
  renamed: "Umbenannt.",
  removeText:
    "Sie können sich dann nicht mehr damit anmelden. Auf Ihrem Gerät bleibt er vielleicht gespeichert; " +
    "entfernen Sie ihn auch dort.",
};
