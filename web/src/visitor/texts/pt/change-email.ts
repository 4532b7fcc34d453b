import type { Texts } from "..";

export const changeEmail: Texts["changeEmail"] = {
  title: "Alterar seu e-mail",
  loading: "Carregando seu endereço",
  back: "Voltar para o seu perfil",

  newAddress: "Novo endereço",
  current: (address) => `Seu endereço atual é ${address}.`,
  newEmail: "Novo e-mail",
  isYours: "Este já é o seu endereço.",
  submit: "Alterar e-mail",
  mailSent: "Enviamos um e-mail para você.",
  changed: "Seu e-mail foi alterado.",

  confirmBoth: "Confirme a partir dos dois endereços",
  confirmNew: "Confirme a partir do novo endereço",
  sentToBoth: (pending, current) =>
    `Enviamos um e-mail para ${pending} e outro para ${current}. Abra o link de cada um, ou digite o código ` +
    `que chegou em ${pending}. Para manter seu endereço, não faça nada.`,
  sentToNew: (pending) =>
    `Enviamos um e-mail para ${pending}. Abra o link que está nele, ou digite o código que chegou em ` +
    `${pending}. Para manter seu endereço, não faça nada.`,
  halfDone: "Uma confirmação recebida. Agora abra o link que enviamos para o seu outro endereço.",
  confirm: "Confirmar",
};
