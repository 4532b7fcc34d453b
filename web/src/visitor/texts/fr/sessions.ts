import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const sessions: Texts["sessions"] = {
  title: "Appareils",
  lead: "Là où vous êtes connecté en ce moment.",
  loading: "Chargement de vos appareils",
  onlyHere: "Vous êtes connecté uniquement ici.",
  onlyHereLead: "D’autres appareils apparaîtront dans cette liste quand vous vous y connecterez.",

  thisDevice: "Cet appareil",
  active: (time) => rich`Actif ${time}`,
  details: (device, srOnly) => rich`Détails${srOnly(` de ${device}`)}`,
  signedIn: (time) => rich`Connecté : ${time}`,
  signOutOf: (device) => `Déconnecter ${device}`,
  signedOut: (device) => `${device} a été déconnecté.`,

  several: "En déconnecter plusieurs à la fois",
  severalLead: "Utile si vous avez perdu un appareil, ou utilisé celui d’une autre personne.",
  signOutOthers: "Déconnecter les autres appareils",
  othersSignedOut: "Vos autres appareils ont été déconnectés.",
  signOutEverywhere: "Se déconnecter partout",
};

export const devices: Texts["devices"] = {
  browserOn: (browser, system) => `${browser} sur ${system}`,
  flutterApp: "Application Flutter",
  androidApp: "Application Android",
  appleApp: "Application Apple",
  unknown: "Appareil inconnu",
};
