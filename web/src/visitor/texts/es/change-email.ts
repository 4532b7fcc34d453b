import type { Texts } from "..";

export const changeEmail: Texts["changeEmail"] = {
  title: "Cambiar su correo electrónico",
  loading: "Cargando su dirección",
  back: "Volver a su perfil",

  newAddress: "Dirección nueva",
  current: (address) => `Su dirección actual es ${address}.`,
  newEmail: "Correo electrónico nuevo",
  isYours: "Esta ya es su dirección.",
  submit: "Cambiar la dirección",
  mailSent: "Le hemos enviado un correo.",
  changed: "Se ha cambiado su correo electrónico.",

  confirmBoth: "Confirme desde ambas direcciones",
  confirmNew: "Confirme desde la dirección nueva",
  sentToBoth: (pending, current) =>
    `Hemos enviado un correo a ${pending} y otro a ${current}. Abra el enlace de cada uno, o escriba el ` +
    `código que llegó a ${pending}. Para conservar su dirección, no haga nada.`,
  sentToNew: (pending) =>
    `Hemos enviado un correo a ${pending}. Abra el enlace que contiene, o escriba el código que llegó a ` +
    `${pending}. Para conservar su dirección, no haga nada.`,
  halfDone: "Confirmación recibida. Ahora abra el enlace que enviamos a su otra dirección.",
  confirm: "Confirmar",
};
