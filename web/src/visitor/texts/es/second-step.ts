import type { Texts } from "..";

export const secondStep: Texts["secondStep"] = {
  title: "Un paso más",
  lead: "Confirme que es usted con su segundo paso.",
  loading: "Cargando sus segundos pasos",
  otherWay: "Probar otro método",
  kinds: {
    totp: "Aplicación de autenticación",
    phone: "Mensaje de texto",
    webauthn: "Llave de seguridad",
  },

  appForm: "Código de su aplicación de autenticación",
  appCode: "Código que muestra su aplicación de autenticación",
  savedAs: (name) => `Guardada como ${name}.`,
  phoneForm: "Código del mensaje de texto",
  phoneCode: "Código recibido por mensaje de texto",
  sentTo: (number) => `Enviado a ${number}.`,
  numberEndingIn: (digits) => `el número que termina en ${digits}`,

  keepAtHand: (key) => `Tenga a mano ${key} y continúe.`,
  yourKey: "su llave de seguridad",
  withKey: "Usar la llave de seguridad",
  waitingForKey: "Esperando a su llave…",
};
