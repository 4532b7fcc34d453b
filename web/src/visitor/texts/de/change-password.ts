import type { Texts } from "..";

export const changePassword: Texts["changePassword"] = {
  title: "Passwort ändern",
  titleFirst: "Passwort festlegen",
  current: "Jetziges Passwort",
  consequences:
    "Ihre anderen Geräte werden abgemeldet, und Links, die wir Ihnen früher geschickt haben, gelten nicht mehr.",
  save: "Passwort speichern",
  notNow: "Nicht jetzt",
};
