import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signInCode: Texts["signInCode"] = {
  title: "Se connecter avec un code",
  leadEmail: "Nous enverrons un lien et un code à votre adresse e-mail.",
  leadPhone: "Nous enverrons un code à votre téléphone.",
  form: "Où envoyer le code",
  byEmail: "Utiliser plutôt mon adresse e-mail",
  byPhone: "Utiliser plutôt mon téléphone",

  checkMail: "Consultez vos e-mails",
  checkPhone: "Consultez votre téléphone",
  sentToEmail: (address, digits) =>
    rich`S’il existe un compte, nous avons envoyé un lien et un code à ${digits} chiffres à ${address}.`,
  sentToPhone: (number) => rich`S’il existe un compte, nous avons envoyé un code au ${number}.`,
  otherAddress: "Utiliser une autre adresse",
  otherNumber: "Utiliser un autre numéro",
  submit: "Se connecter",
};
