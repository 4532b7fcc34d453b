import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const security: Texts["security"] = {
  title: "Zwei-Schritt-Anmeldung",
  lead: "Ein zweiter Schritt bei der Anmeldung schützt Ihr Konto auch dann, wenn jemand Ihr Passwort erfährt.",
  loading: "Ihre zweiten Schritte werden geladen",

  none: "Sie haben noch keinen zweiten Schritt.",
  why:
    "Mit einer Authenticator-App auf Ihrem Telefon melden Sie sich mit Ihrem Passwort und einem Code an, der " +
    "alle 30 Sekunden wechselt. Mit dem Passwort allein kommt niemand hinein.",
  yours: "Ihre zweiten Schritte",
  onlyOne: "Sie haben einen zweiten Schritt. Fügen Sie einen weiteren hinzu, falls Sie ihn verlieren.",
  list: "Zweite Schritte",
  unfinished: "Nicht abgeschlossene Einrichtung",
  unfinishedLead: "Diese schützen Sie noch nicht.",
  isUnfinished: "Nicht abgeschlossen",
  turnedOff: "Diese Methode ist ausgeschaltet.",
  addApp: "Authenticator-App einrichten",
  addPhone: "Telefon hinzufügen",
  addKey: "Sicherheitsschlüssel hinzufügen",

  finish: "Abschließen",
  finishOf: (name) => `Einrichtung von ${name} abschließen`,
  theApp: "der App",
  finishTitle: "Einrichtung abschließen",
  finishLead:
    "Geben Sie den Code ein, den Ihre App zeigt. Wenn Sie das Bild nie gescannt haben, entfernen Sie diesen " +
    "Eintrag, und beginnen Sie von vorn.",

  added: (day) => rich`Hinzugefügt am ${day}`,
  used: (time) => rich`Benutzt ${time}`,
  remove: "Entfernen",
  removeOf: (name) => `${name} entfernen`,
  removeTitle: (name) => `${name} entfernen?`,
  removeText: "Bei der Anmeldung wird nicht mehr danach gefragt.",
  removeLast: "Es ist Ihr letzter zweiter Schritt: Ihr Passwort allein öffnet dann Ihr Konto.",
  removing: "Wird entfernt …",
  removed: (name) => `${name} ist entfernt.`,

  keyHint: "Damit Sie Ihre Schlüssel unterscheiden können.",
  waitingForKey: "Warten auf Ihren Schlüssel …",
  keyAdded: "Sicherheitsschlüssel hinzugefügt.",

  back: "Zurück",
};

export const newApp: Texts["newApp"] = {
  title: "Authenticator-App einrichten",
  name: "1. Vergeben Sie einen Namen",
  nameLead: "Damit Sie Ihre Geräte später unterscheiden können.",
  nameForm: "Name der App",
  preparing: "Wird vorbereitet …",

  scan: "2. Scannen Sie das Bild",
  scanLead:
    "Öffnen Sie Ihre Authenticator-App, fügen Sie ein Konto hinzu, und richten Sie die Kamera hierher.",
  picture: "QR-Code für Ihre Authenticator-App",
  cannotScan: (account, service) =>
    `Geht das Scannen nicht? Geben Sie in der App diesen Schlüssel für ${account} bei ${service} ein:`,
  yourAccount: "Ihr Konto",
  copyKey: "Schlüssel kopieren",
  openApp: "In der App öffnen",

  type: "3. Geben Sie den Code ein",
  typeLead: "Die App zeigt nun sechs Ziffern für dieses Konto.",
  turnOn: "Einschalten",
  cancelling: "Wird abgebrochen …",

  done: "Die Zwei-Schritt-Anmeldung ist eingeschaltet",
  doneText:
    "Ab jetzt wird bei der Anmeldung nach einem Code Ihrer App gefragt. Geräte, die nur mit Ihrem Passwort " +
    "angemeldet waren, wurden abgemeldet.",
  seeAll: "Ihre zweiten Schritte ansehen, oder einen weiteren hinzufügen",
};
