import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signInCode: Texts["signInCode"] = {
  title: "Mit einem Code anmelden",
  leadEmail: "Wir schicken einen Link und einen Code an Ihre E-Mail-Adresse.",
  leadPhone: "Wir schicken einen Code an Ihr Telefon.",
  form: "Wohin der Code gehen soll",
  byEmail: "Stattdessen meine E-Mail-Adresse verwenden",
  byPhone: "Stattdessen mein Telefon verwenden",

  checkMail: "Sehen Sie in Ihre E-Mails",
  checkPhone: "Sehen Sie auf Ihr Telefon",
  sentToEmail: (address, digits) =>
    rich`Falls es ein Konto gibt, haben wir einen Link und einen ${digits}-stelligen Code an ${address} geschickt.`,
  sentToPhone: (number) => rich`Falls es ein Konto gibt, haben wir einen Code an ${number} geschickt.`,
  otherAddress: "Andere Adresse verwenden",
  otherNumber: "Andere Nummer verwenden",
  submit: "Anmelden",
};
