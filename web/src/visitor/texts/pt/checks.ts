import type { Texts } from "..";
import { pluralFor } from "../../../texts/plural";

const plural = pluralFor("pt");
const characters = (count: number) => `${count} ${plural(count, { one: "caractere", other: "caracteres" })}`;

export const checks: Texts["checks"] = {
  emailMissing: "Digite seu e-mail.",
  emailWrong: "Digite um e-mail válido.",
  passwordMissing: "Digite uma senha.",
  passwordShort: (length) => `Use pelo menos ${characters(length)}.`,
  passwordLong: "Use uma senha mais curta.",
  yourPasswordMissing: "Digite sua senha.",
  currentPasswordMissing: "Digite sua senha atual.",
  phoneWrong: "Digite um número como +55 11 91234 5678.",
  codeShort: (length) => `Digite os ${length} dígitos do código.`,
  nameMissing: "Dê um nome.",
  required: (label) => `O campo “${label}” é obrigatório.`,
  consentMissing: "Aceite para continuar.",
};

export const passwordHints: Texts["passwordHints"] = {
  length: (length) => `Pelo menos ${characters(length)}`,
  small: "Contém uma letra minúscula",
  capital: "Contém uma letra maiúscula",
  letter: "Contém uma letra",
  digit: "Contém um dígito",
  symbol: "Contém um símbolo, como ! ou ?",
};
