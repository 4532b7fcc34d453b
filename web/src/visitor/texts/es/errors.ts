import type { Texts } from "..";

const signedOut = "Se ha cerrado su sesión. Inicie sesión de nuevo.";
const turnedOff = "Esta forma de iniciar sesión está desactivada.";
const methodOff = "Este método está desactivado.";
const badServer = "El servidor tardó demasiado o tuvo un problema. Inténtelo de nuevo.";
const startAgain = "El inicio de sesión no se completó. Empiece de nuevo.";
const otherBrowser = "Abra el enlace en el navegador en el que empezó, o solicite uno nuevo.";
const noSso = "No hay inicio de sesión único configurado para este dominio.";
const ssoUnfinished =
  "El inicio de sesión de su organización no se completó. Empiece de nuevo o contacte con su administrador.";
const tryAgain = "Inténtelo de nuevo.";
const exists = "Ya existe una cuenta con este correo electrónico. Inicie sesión o restablezca su contraseña.";
const badEmail = "Escriba un correo electrónico válido.";
const linkExpired = "Este enlace ha caducado o ya se ha usado.";
const waitToSend = ({ seconds }: { seconds: number }) =>
  `Espere ${seconds} s antes de solicitar otro mensaje.`;
const noProvider = ({ provider }: { provider: string }) =>
  `El inicio de sesión con ${provider} no está disponible.`;

const codes: Texts["errors"]["codes"] = {
  offline: "No podemos conectar con el servidor. Compruebe su conexión e inténtelo de nuevo.",
  server_error: badServer,
  cancelled: "No se ha cambiado nada.",
  key_not_used: "No se usó la llave de seguridad. Inténtelo de nuevo.",

  invalid_credentials: "El correo electrónico o la contraseña no son correctos.",
  email_not_confirmed: "Confirme primero su correo electrónico.",
  phone_not_confirmed: "Confirme primero su teléfono.",
  user_already_exists: exists,
  email_exists: "Esa dirección no se puede usar.",
  phone_exists: "Ese número no se puede usar.",
  email_address_invalid: badEmail,
  validation_failed: "Hay algo incorrecto en este formulario. Revíselo.",
  email_address_not_authorized: "No podemos enviar correo a esta dirección. Contacte con el operador.",
  weak_password: "Elija una contraseña más segura.",
  same_password: "Elija una contraseña que no haya usado aquí.",
  current_password_required: "Escriba su contraseña actual.",
  current_password_invalid: "Su contraseña actual no es correcta.",
  reauthentication_needed: "Confirme que es usted con el código que enviamos.",
  reauthentication_not_valid: "Ese código no es correcto o ha caducado.",
  reauth_nonce_missing: "Escriba el código.",
  otp_expired: "Código incorrecto o caducado.",
  otp_disabled: turnedOff,
  signup_disabled: turnedOff,
  email_provider_disabled: turnedOff,
  phone_provider_disabled: turnedOff,
  anonymous_provider_disabled: turnedOff,
  over_email_send_rate_limit: waitToSend,
  over_sms_send_rate_limit: waitToSend,
  over_request_rate_limit: "Demasiados intentos. Inténtelo de nuevo dentro de unos minutos.",
  captcha_failed: "La comprobación falló. Inténtelo de nuevo.",
  captcha_expired: "Se agotó el tiempo de la comprobación. Inténtelo de nuevo.",
  user_banned: "Esta cuenta está suspendida. Contacte con soporte.",

  user_not_found: signedOut,
  session_not_found: signedOut,
  session_expired: signedOut,
  refresh_token_not_found: signedOut,
  refresh_token_already_used: signedOut,
  bad_jwt: signedOut,
  no_authorization: signedOut,

  user_sso_managed: "Esto lo gestiona su organización; cámbielo allí.",
  insufficient_aal: "Confirme con su segundo paso para continuar.",
  mfa_verification_failed: "Ese código no es correcto. Los códigos cambian cada 30 segundos.",
  mfa_challenge_expired: "Escriba un código nuevo.",
  mfa_ip_address_mismatch: "Su red cambió mientras tanto. Empiece este paso de nuevo.",
  mfa_verification_rejected: ({ message }) => message || "Este paso fue rechazado.",
  mfa_factor_name_conflict: "Ya tiene un método con este nombre.",
  mfa_factor_not_found: "Ese método ya no existe.",
  too_many_enrolled_mfa_factors: "Quite un método antes de añadir otro.",
  mfa_verified_factor_exists: "Este número ya está configurado.",
  mfa_totp_enroll_not_enabled: methodOff,
  mfa_totp_verify_not_enabled: methodOff,
  mfa_phone_enroll_not_enabled: methodOff,
  mfa_phone_verify_not_enabled: methodOff,
  mfa_webauthn_enroll_not_enabled: methodOff,
  mfa_webauthn_verify_not_enabled: methodOff,
  mfa_recovery_codes_locked: "Demasiados códigos incorrectos; use otro método.",
  mfa_recovery_codes_sole_factor: "Añada primero otro método.",

  identity_already_exists: "Esa cuenta ya está vinculada a otro usuario.",
  identity_not_found: "Esa vinculación ya no existe.",
  single_identity_not_deletable: "Añada primero otra forma de iniciar sesión.",
  email_conflict_identity_not_deletable:
    "El correo electrónico que le quedaría tras este cambio ya pertenece a otro usuario.",
  manual_linking_disabled: "Aquí no se pueden vincular cuentas.",
  provider_disabled: noProvider,
  oauth_provider_not_supported: noProvider,
  access_denied: "Se canceló el inicio de sesión.",
  bad_oauth_state: startAgain,
  bad_oauth_callback: startAgain,
  oauth_invalid_state: startAgain,
  oauth_client_state_not_found: startAgain,
  oauth_client_state_expired: startAgain,
  provider_email_needs_verification: ({ provider }) =>
    `Revise su correo: ${provider} no ha confirmado esta dirección, así que le enviamos un enlace.`,
  flow_state_not_found: otherBrowser,
  flow_state_expired: otherBrowser,
  flow_state_already_used: otherBrowser,
  bad_code_verifier: otherBrowser,
  pkce_code_verifier_not_found: otherBrowser,
  invite_not_found: "Esta invitación ya no es válida.",
  sso_provider_not_found: noSso,
  sso_provider_disabled: noSso,
  saml_idp_not_found: noSso,
  saml_provider_disabled: noSso,
  saml_relay_state_expired: ssoUnfinished,
  saml_relay_state_not_found: ssoUnfinished,
  saml_assertion_no_email: ssoUnfinished,
  saml_assertion_no_user_id: ssoUnfinished,

  webauthn_credential_not_found: "Esta llave de acceso no está registrada aquí.",
  webauthn_challenge_expired: tryAgain,
  webauthn_challenge_not_found: tryAgain,
  webauthn_verification_failed: "No se pudo verificar la llave de acceso.",
  webauthn_credential_exists: "Este dispositivo ya tiene una llave de acceso.",
  passkey_disabled: "Las llaves de acceso están desactivadas.",
  too_many_passkeys: "Quite primero una llave de acceso.",

  hook_timeout: badServer,
  hook_timeout_after_retry: badServer,
  request_timeout: badServer,
  unexpected_failure: badServer,
  conflict: badServer,
  sms_send_failed: "No pudimos enviar el mensaje. Compruebe el número o inténtelo más tarde.",
  feature_disabled: "Esto no está disponible aquí.",
  csrf_rejected: "Recargue la página e inténtelo de nuevo.",
};

export const errors: Texts["errors"] = {
  codes,
  screens: {
    "sign-in": { validation_failed: badEmail },
    "sign-up": { validation_failed: badEmail, email_exists: exists },
    email: { validation_failed: badEmail },
    phone: { validation_failed: "Escriba un número como +34 612 345 678." },
    confirm: { otp_expired: linkExpired },
    callback: { otp_expired: linkExpired },
  },
  weaknesses: {
    length: "Use más caracteres.",
    characters: "Añada los tipos de caracteres que faltan.",
    pwned: "Esta contraseña apareció en una filtración de datos; elija otra.",
  },
  unknown: (code) => `Algo salió mal. Inténtelo de nuevo. (${code})`,
  unknownWithRequest: (code, request) =>
    `Algo salió mal. Inténtelo de nuevo. (${code}, solicitud ${request})`,
  thisProvider: "este proveedor",
};
