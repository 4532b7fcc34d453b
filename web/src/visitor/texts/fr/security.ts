import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const security: Texts["security"] = {
  title: "Validation en deux étapes",
  lead: "Une seconde étape à la connexion protège votre compte même si quelqu’un découvre votre mot de passe.",
  loading: "Chargement de vos secondes étapes",

  none: "Vous n’avez pas encore de seconde étape.",
  why:
    "Avec une application d’authentification sur votre téléphone, la connexion demande votre mot de passe et " +
    "un code qui change toutes les 30 secondes. Le mot de passe seul ne suffit plus à personne.",
  yours: "Vos secondes étapes",
  onlyOne: "Vous avez une seule seconde étape. Ajoutez-en une autre, au cas où vous la perdriez.",
  list: "Secondes étapes",
  unfinished: "Configuration inachevée",
  unfinishedLead: "Celles-ci ne vous protègent pas encore.",
  isUnfinished: "Inachevée",
  turnedOff: "Cette méthode est désactivée.",
  addApp: "Configurer une application d’authentification",
  addPhone: "Ajouter un téléphone",
  addKey: "Ajouter une clé de sécurité",

  finish: "Terminer",
  finishOf: (name) => `Terminer la configuration de ${name}`,
  theApp: "l’application",
  finishTitle: "Terminer la configuration",
  finishLead:
    "Saisissez le code affiché par votre application. Si vous n’avez jamais scanné l’image, retirez cette " +
    "entrée et recommencez.",

  added: (day) => rich`Ajouté le ${day}`,
  used: (time) => rich`Utilisé ${time}`,
  remove: "Retirer",
  removeOf: (name) => `Retirer ${name}`,
  removeTitle: (name) => `Retirer ${name} ?`,
  removeText: "Cette étape ne vous sera plus demandée à la connexion.",
  removeLast: "C’est la dernière : votre mot de passe seul ouvrira votre compte.",
  removing: "Retrait…",
  removed: (name) => `${name} a été retiré.`,

  keyHint: "Pour distinguer vos clés.",
  waitingForKey: "En attente de votre clé…",
  keyAdded: "Clé de sécurité ajoutée.",

  back: "Retour",
};

export const newApp: Texts["newApp"] = {
  title: "Configurer une application d’authentification",
  name: "1. Donnez-lui un nom",
  nameLead: "Pour distinguer plus tard vos appareils.",
  nameForm: "Nom de l’application",
  preparing: "Préparation…",

  scan: "2. Scannez l’image",
  scanLead: "Ouvrez votre application d’authentification, ajoutez un compte et dirigez l’appareil photo ici.",
  picture: "Code QR pour votre application d’authentification",
  cannotScan: (account, service) =>
    `Impossible de scanner ? Saisissez cette clé dans l’application pour ${account} chez ${service} :`,
  yourAccount: "votre compte",
  copyKey: "Copier la clé",
  openApp: "Ouvrir dans l’application",

  type: "3. Saisissez le code",
  typeLead: "L’application affiche maintenant six chiffres pour ce compte.",
  turnOn: "Activer",
  cancelling: "Annulation…",

  done: "La validation en deux étapes est activée",
  doneText:
    "Désormais, la connexion demande un code de votre application. Les appareils connectés avec votre seul " +
    "mot de passe ont été déconnectés.",
  seeAll: "Voir vos secondes étapes, ou en ajouter une autre",
};
