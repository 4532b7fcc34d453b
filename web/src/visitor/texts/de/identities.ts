import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const identities: Texts["identities"] = {
  title: "Verbundene Konten",
  lead: "So können Sie sich bei diesem Konto anmelden.",
  loading: "Ihre verbundenen Konten werden geladen",
  email: "E-Mail und Passwort",
  phone: "Telefon",
  connectedAt: (day) => rich`Verbunden am ${day}`,
  used: (time) => rich`Benutzt ${time}`,
  onlyOne:
    "Nur so können Sie sich anmelden. Um die Verbindung zu trennen, fügen Sie zuerst eine andere Art der " +
    "Anmeldung hinzu.",

  disconnect: "Trennen",
  disconnectOf: (account) => `${account} trennen`,
  disconnectTitle: (account) => `${account} trennen?`,
  disconnectText: "Sie können sich dann nicht mehr damit anmelden.",
  providesEmail: (address) => `Von dort kommt die E-Mail-Adresse dieses Kontos, ${address}.`,
  disconnecting: "Wird getrennt …",
  disconnected: (account) => `${account} ist getrennt.`,

  another: "Ein weiteres Konto verbinden",
  anotherLead: "Danach können Sie sich mit jedem davon anmelden.",
  loadingOthers: "Was sich verbinden lässt, wird geladen",
  connect: (provider) => `${provider} verbinden`,
};
