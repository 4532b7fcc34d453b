import type { Texts } from "..";

export const accountLayout: Texts["accountLayout"] = {
  skip: "Zum Inhalt springen",
  navigation: "Konto",
  profile: "Profil",
  password: "Passwort",
  security: "Zwei-Schritt-Anmeldung",
  identities: "Verbundene Konten",
  sessions: "Geräte",
  delete: "Konto löschen",
  weakPassword: "Ihr Passwort ist schwächer, als wir es heute verlangen.",
  chooseStronger: "Ein stärkeres wählen",
  notNow: "Nicht jetzt",
  toProfile: "Zu Ihrem Profil",
};
