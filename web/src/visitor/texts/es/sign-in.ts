import type { Texts } from "..";
import { rich } from "../../../texts/rich";

export const signIn: Texts["signIn"] = {
  title: "Iniciar sesión",
  reasons: {
    expired: "Se ha cerrado su sesión. Inicie sesión de nuevo.",
    revoked: "Se cerró la sesión en este dispositivo.",
    signed_out: "Ha cerrado la sesión.",
  },
  newHere: (link) => rich`¿Es su primera vez aquí? ${link("Crear una cuenta")}`,
  withCode: "Iniciar sesión con un código",
  withSso: "Usar inicio de sesión único",
  otherWay: "Iniciar sesión de otra forma",
  back: "Volver al inicio de sesión",

  form: "Iniciar sesión con su contraseña",
  forgot: "¿Olvidó su contraseña?",
  resendConfirmation: "Enviar de nuevo la confirmación",
  submit: "Iniciar sesión",
  signingIn: "Iniciando sesión…",

  withPasskey: "Usar una llave de acceso",
  waitingForPasskey: "Esperando su llave de acceso…",
  noPasskeyUsed: "No se usó ninguna llave de acceso.",

  suspended: "Esta cuenta está suspendida",
};

export const providers: Texts["providers"] = {
  continueWith: (provider) => `Continuar con ${provider}`,
  opening: (provider) => `Abriendo ${provider}…`,
};

export const singleSignOn: Texts["singleSignOn"] = {
  title: "Inicio de sesión único",
  lead: "Inicie sesión con su organización.",
  workEmail: "Correo electrónico del trabajo",
  opening: "Abriendo…",
};
