import type { Texts } from "..";

const signedOut = "Sie wurden abgemeldet. Bitte melden Sie sich erneut an.";
const turnedOff = "Diese Art der Anmeldung ist ausgeschaltet.";
const methodOff = "Diese Methode ist ausgeschaltet.";
const badServer = "Der Server hat zu lange gebraucht oder hatte ein Problem. Bitte versuchen Sie es erneut.";
const startAgain = "Die Anmeldung wurde nicht abgeschlossen. Bitte beginnen Sie von vorn.";
const otherBrowser =
  "Öffnen Sie den Link in dem Browser, in dem Sie begonnen haben, oder fordern Sie einen neuen an.";
const noSso = "Für diese Domain ist kein Single Sign-on eingerichtet.";
const ssoUnfinished =
  "Die Anmeldung bei Ihrer Organisation wurde nicht abgeschlossen. Beginnen Sie von vorn, oder wenden Sie " +
  "sich an Ihre Administration.";
const tryAgain = "Bitte versuchen Sie es erneut.";
const exists =
  "Zu dieser E-Mail-Adresse gibt es bereits ein Konto. Melden Sie sich an, oder setzen Sie Ihr Passwort zurück.";
const badEmail = "Geben Sie eine gültige E-Mail-Adresse ein.";
const linkExpired = "Dieser Link ist abgelaufen oder wurde bereits benutzt.";
const waitToSend = ({ seconds }: { seconds: number }) =>
  `Bitte warten Sie ${seconds} s, bevor Sie eine weitere Nachricht anfordern.`;
const noProvider = ({ provider }: { provider: string }) =>
  `Die Anmeldung mit ${provider} steht nicht zur Verfügung.`;

const codes: Texts["errors"]["codes"] = {
  offline: "Der Server ist nicht erreichbar. Prüfen Sie Ihre Verbindung, und versuchen Sie es erneut.",
  server_error: badServer,
  cancelled: "Es wurde nichts geändert.",
  key_not_used: "Der Sicherheitsschlüssel wurde nicht benutzt. Bitte versuchen Sie es erneut.",

  invalid_credentials: "E-Mail-Adresse oder Passwort ist falsch.",
  email_not_confirmed: "Bestätigen Sie zuerst Ihre E-Mail-Adresse.",
  phone_not_confirmed: "Bestätigen Sie zuerst Ihre Telefonnummer.",
  user_already_exists: exists,
  email_exists: "Diese Adresse kann nicht verwendet werden.",
  phone_exists: "Diese Nummer kann nicht verwendet werden.",
  email_address_invalid: badEmail,
  validation_failed: "Etwas in diesem Formular stimmt nicht. Bitte prüfen Sie es.",
  email_address_not_authorized:
    "An diese Adresse können wir keine E-Mails senden. Wenden Sie sich an den Betreiber.",
  weak_password: "Wählen Sie ein stärkeres Passwort.",
  same_password: "Wählen Sie ein Passwort, das Sie hier noch nicht benutzt haben.",
  current_password_required: "Geben Sie Ihr jetziges Passwort ein.",
  current_password_invalid: "Ihr jetziges Passwort ist falsch.",
  reauthentication_needed: "Bestätigen Sie mit dem Code, den wir geschickt haben, dass Sie es sind.",
  reauthentication_not_valid: "Dieser Code ist falsch oder abgelaufen.",
  reauth_nonce_missing: "Geben Sie den Code ein.",
  otp_expired: "Der Code ist falsch oder abgelaufen.",
  otp_disabled: turnedOff,
  signup_disabled: turnedOff,
  email_provider_disabled: turnedOff,
  phone_provider_disabled: turnedOff,
  anonymous_provider_disabled: turnedOff,
  over_email_send_rate_limit: waitToSend,
  over_sms_send_rate_limit: waitToSend,
  over_request_rate_limit: "Zu viele Versuche. Versuchen Sie es in einigen Minuten erneut.",
  captcha_failed: "Die Prüfung ist fehlgeschlagen. Bitte versuchen Sie es erneut.",
  captcha_expired: "Die Zeit für die Prüfung ist abgelaufen. Bitte versuchen Sie es erneut.",
  user_banned: "Dieses Konto ist gesperrt. Wenden Sie sich an den Support.",

  user_not_found: signedOut,
  session_not_found: signedOut,
  session_expired: signedOut,
  refresh_token_not_found: signedOut,
  refresh_token_already_used: signedOut,
  bad_jwt: signedOut,
  no_authorization: signedOut,

  user_sso_managed: "Das verwaltet Ihre Organisation; ändern Sie es dort.",
  insufficient_aal: "Bestätigen Sie mit Ihrem zweiten Schritt, um fortzufahren.",
  mfa_verification_failed: "Dieser Code stimmt nicht. Codes wechseln alle 30 Sekunden.",
  mfa_challenge_expired: "Bitte geben Sie einen neuen Code ein.",
  mfa_ip_address_mismatch:
    "Ihr Netzwerk hat inzwischen gewechselt. Bitte beginnen Sie diesen Schritt erneut.",
  mfa_verification_rejected: ({ message }) => message || "Dieser Schritt wurde abgelehnt.",
  mfa_factor_name_conflict: "Sie haben bereits eine Methode mit diesem Namen.",
  mfa_factor_not_found: "Diese Methode gibt es nicht mehr.",
  too_many_enrolled_mfa_factors: "Entfernen Sie eine Methode, bevor Sie eine weitere hinzufügen.",
  mfa_verified_factor_exists: "Diese Nummer ist bereits eingerichtet.",
  mfa_totp_enroll_not_enabled: methodOff,
  mfa_totp_verify_not_enabled: methodOff,
  mfa_phone_enroll_not_enabled: methodOff,
  mfa_phone_verify_not_enabled: methodOff,
  mfa_webauthn_enroll_not_enabled: methodOff,
  mfa_webauthn_verify_not_enabled: methodOff,
  mfa_recovery_codes_locked: "Zu viele falsche Codes; verwenden Sie eine andere Methode.",
  mfa_recovery_codes_sole_factor: "Fügen Sie zuerst eine andere Methode hinzu.",

  identity_already_exists: "Dieses Konto ist bereits mit einer anderen Person verbunden.",
  identity_not_found: "Diese Verbindung gibt es nicht mehr.",
  single_identity_not_deletable: "Fügen Sie zuerst eine andere Art der Anmeldung hinzu.",
  email_conflict_identity_not_deletable:
    "Die E-Mail-Adresse, die Ihnen nach dieser Änderung bliebe, gehört bereits zu einem anderen Konto.",
  manual_linking_disabled: "Das Verbinden von Konten ist hier ausgeschaltet.",
  provider_disabled: noProvider,
  oauth_provider_not_supported: noProvider,
  access_denied: "Die Anmeldung wurde abgebrochen.",
  bad_oauth_state: startAgain,
  bad_oauth_callback: startAgain,
  oauth_invalid_state: startAgain,
  oauth_client_state_not_found: startAgain,
  oauth_client_state_expired: startAgain,
  provider_email_needs_verification: ({ provider }) =>
    `Sehen Sie in Ihre E-Mails: ${provider} hat diese Adresse nicht bestätigt, deshalb haben wir Ihnen einen ` +
    `Link geschickt.`,
  flow_state_not_found: otherBrowser,
  flow_state_expired: otherBrowser,
  flow_state_already_used: otherBrowser,
  bad_code_verifier: otherBrowser,
  pkce_code_verifier_not_found: otherBrowser,
  invite_not_found: "Diese Einladung gilt nicht mehr.",
  sso_provider_not_found: noSso,
  sso_provider_disabled: noSso,
  saml_idp_not_found: noSso,
  saml_provider_disabled: noSso,
  saml_relay_state_expired: ssoUnfinished,
  saml_relay_state_not_found: ssoUnfinished,
  saml_assertion_no_email: ssoUnfinished,
  saml_assertion_no_user_id: ssoUnfinished,

  webauthn_credential_not_found: "Dieser Passkey ist hier nicht registriert.",
  webauthn_challenge_expired: tryAgain,
  webauthn_challenge_not_found: tryAgain,
  webauthn_verification_failed: "Der Passkey konnte nicht geprüft werden.",
  webauthn_credential_exists: "Dieses Gerät hat bereits einen Passkey.",
  passkey_disabled: "Passkeys sind ausgeschaltet.",
  too_many_passkeys: "Entfernen Sie zuerst einen Passkey.",

  hook_timeout: badServer,
  hook_timeout_after_retry: badServer,
  request_timeout: badServer,
  unexpected_failure: badServer,
  conflict: badServer,
  sms_send_failed:
    "Die Nachricht konnte nicht gesendet werden. Prüfen Sie die Nummer, oder versuchen Sie es später.",
  feature_disabled: "Das steht hier nicht zur Verfügung.",
  csrf_rejected: "Bitte laden Sie die Seite neu, und versuchen Sie es erneut.",
};

export const errors: Texts["errors"] = {
  codes,
  screens: {
    "sign-in": { validation_failed: badEmail },
    "sign-up": { validation_failed: badEmail, email_exists: exists },
    email: { validation_failed: badEmail },
    phone: { validation_failed: "Geben Sie eine Nummer wie +49 170 1234567 ein." },
    confirm: { otp_expired: linkExpired },
    callback: { otp_expired: linkExpired },
  },
  weaknesses: {
    length: "Verwenden Sie mehr Zeichen.",
    characters: "Ergänzen Sie die fehlenden Arten von Zeichen.",
    pwned: "Dieses Passwort ist in einem Datenleck aufgetaucht; wählen Sie ein anderes.",
  },
  unknown: (code) => `Etwas ist schiefgegangen. Bitte versuchen Sie es erneut. (${code})`,
  unknownWithRequest: (code, request) =>
    `Etwas ist schiefgegangen. Bitte versuchen Sie es erneut. (${code}, Anfrage ${request})`,
  thisProvider: "diesem Anbieter",
};
