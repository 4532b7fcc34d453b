import type { Texts } from "..";

export const callback: Texts["callback"] = {
  connected: (provider) => `${provider} ist verbunden.`,
  cancelled: "Die Anmeldung wurde abgebrochen",
  unfinished: "Die Anmeldung wurde nicht abgeschlossen",
  backToAccount: "Zurück zu Ihrem Konto",
};
