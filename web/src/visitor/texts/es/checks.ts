import type { Texts } from "..";
import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("es");
const characters = (count: number) => `${count} ${plural(count, { one: "carácter", other: "caracteres" })}`;

export const checks: Texts["checks"] = {
  emailMissing: "Escriba su correo electrónico.",
  emailWrong: "Escriba un correo electrónico válido.",
  passwordMissing: "Escriba una contraseña.",
  passwordShort: (length) => `Use al menos ${characters(length)}.`,
  passwordLong: "Use una contraseña más corta.",
  yourPasswordMissing: "Escriba su contraseña.",
  currentPasswordMissing: "Escriba su contraseña actual.",
  phoneWrong: "Escriba un número como +34 612 345 678.",
  codeShort: (length) => `Escriba los ${length} dígitos del código.`,
  nameMissing: "Póngale un nombre.",
  required: (label) => `El campo «${label}» es obligatorio.`,
  consentMissing: "Debe aceptar para continuar.",
};

export const passwordHints: Texts["passwordHints"] = {
  length: (length) => `Al menos ${characters(length)}`,
  small: "Contiene una letra minúscula",
  capital: "Contiene una letra mayúscula",
  letter: "Contiene una letra",
  digit: "Contiene un dígito",
  symbol: "Contiene un símbolo, como ! o ?",
};
