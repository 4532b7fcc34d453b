import type { Texts } from "..";

export const page: Texts["page"] = {
  noScriptTitle: "Diese Seiten brauchen JavaScript",
  noScriptText:
    "Anmeldung und Verwaltung Ihres Kontos geschehen in Ihrem Browser. " +
    "Bitte schalten Sie JavaScript für diese Seite ein, und laden Sie sie dann neu.",
};
