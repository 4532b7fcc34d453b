import type { Texts } from "..";

const signedOut = "Vous avez été déconnecté. Veuillez vous reconnecter.";
const turnedOff = "Ce mode de connexion est désactivé.";
const methodOff = "Cette méthode est désactivée.";
const badServer = "Le serveur a mis trop de temps à répondre ou a rencontré un problème. Veuillez réessayer.";
const startAgain = "La connexion n’a pas abouti. Veuillez recommencer.";
const otherBrowser = "Ouvrez le lien dans le navigateur où vous avez commencé, ou demandez-en un nouveau.";
const noSso = "Aucune authentification unique n’est configurée pour ce domaine.";
const ssoUnfinished =
  "La connexion de votre organisation n’a pas abouti. Recommencez ou contactez votre administrateur.";
const tryAgain = "Veuillez réessayer.";
const exists =
  "Un compte existe déjà avec cette adresse e-mail. Connectez-vous ou réinitialisez votre mot de passe.";
const badEmail = "Saisissez une adresse e-mail valide.";
const linkExpired = "Ce lien a expiré ou a déjà été utilisé.";
const waitToSend = ({ seconds }: { seconds: number }) =>
  `Veuillez attendre ${seconds} s avant de demander un autre message.`;
const noProvider = ({ provider }: { provider: string }) =>
  `La connexion avec ${provider} n’est pas disponible.`;

const codes: Texts["errors"]["codes"] = {
  offline: "Le serveur est injoignable. Vérifiez votre connexion et réessayez.",
  server_error: badServer,
  cancelled: "Rien n’a été modifié.",
  key_not_used: "La clé de sécurité n’a pas été utilisée. Veuillez réessayer.",

  invalid_credentials: "L’adresse e-mail ou le mot de passe est incorrect.",
  email_not_confirmed: "Confirmez d’abord votre adresse e-mail.",
  phone_not_confirmed: "Confirmez d’abord votre numéro de téléphone.",
  user_already_exists: exists,
  email_exists: "Cette adresse ne peut pas être utilisée.",
  phone_exists: "Ce numéro ne peut pas être utilisé.",
  email_address_invalid: badEmail,
  validation_failed: "Ce formulaire contient une erreur. Veuillez le vérifier.",
  email_address_not_authorized:
    "Nous ne pouvons pas envoyer d’e-mail à cette adresse. Contactez l’exploitant.",
  weak_password: "Choisissez un mot de passe plus sûr.",
  same_password: "Choisissez un mot de passe que vous n’avez pas encore utilisé ici.",
  current_password_required: "Saisissez votre mot de passe actuel.",
  current_password_invalid: "Votre mot de passe actuel est incorrect.",
  reauthentication_needed: "Confirmez votre identité avec le code que nous avons envoyé.",
  reauthentication_not_valid: "Ce code est incorrect ou a expiré.",
  reauth_nonce_missing: "Saisissez le code.",
  otp_expired: "Code incorrect ou expiré.",
  otp_disabled: turnedOff,
  signup_disabled: turnedOff,
  email_provider_disabled: turnedOff,
  phone_provider_disabled: turnedOff,
  anonymous_provider_disabled: turnedOff,
  over_email_send_rate_limit: waitToSend,
  over_sms_send_rate_limit: waitToSend,
  over_request_rate_limit: "Trop de tentatives. Réessayez dans quelques minutes.",
  captcha_failed: "La vérification a échoué. Veuillez réessayer.",
  captcha_expired: "Le délai de la vérification est dépassé. Veuillez réessayer.",
  user_banned: "Ce compte est suspendu. Contactez l’assistance.",

  user_not_found: signedOut,
  session_not_found: signedOut,
  session_expired: signedOut,
  refresh_token_not_found: signedOut,
  refresh_token_already_used: signedOut,
  bad_jwt: signedOut,
  no_authorization: signedOut,

  user_sso_managed: "Votre organisation gère ce réglage ; modifiez-le chez elle.",
  insufficient_aal: "Confirmez avec votre seconde étape pour continuer.",
  mfa_verification_failed: "Ce code est incorrect. Les codes changent toutes les 30 secondes.",
  mfa_challenge_expired: "Veuillez saisir un nouveau code.",
  mfa_ip_address_mismatch: "Votre réseau a changé entre-temps. Veuillez recommencer cette étape.",
  mfa_verification_rejected: ({ message }) => message || "Cette étape a été refusée.",
  mfa_factor_name_conflict: "Vous avez déjà une méthode de ce nom.",
  mfa_factor_not_found: "Cette méthode n’existe plus.",
  too_many_enrolled_mfa_factors: "Retirez une méthode avant d’en ajouter une autre.",
  mfa_verified_factor_exists: "Ce numéro est déjà configuré.",
  mfa_totp_enroll_not_enabled: methodOff,
  mfa_totp_verify_not_enabled: methodOff,
  mfa_phone_enroll_not_enabled: methodOff,
  mfa_phone_verify_not_enabled: methodOff,
  mfa_webauthn_enroll_not_enabled: methodOff,
  mfa_webauthn_verify_not_enabled: methodOff,
  mfa_recovery_codes_locked: "Trop de codes incorrects ; utilisez une autre méthode.",
  mfa_recovery_codes_sole_factor: "Ajoutez d’abord une autre méthode.",

  identity_already_exists: "Ce compte est déjà associé à un autre utilisateur.",
  identity_not_found: "Cette association n’existe plus.",
  single_identity_not_deletable: "Ajoutez d’abord un autre mode de connexion.",
  email_conflict_identity_not_deletable:
    "L’adresse e-mail qui vous resterait après cette modification appartient déjà à un autre utilisateur.",
  manual_linking_disabled: "L’association de comptes est désactivée ici.",
  provider_disabled: noProvider,
  oauth_provider_not_supported: noProvider,
  access_denied: "La connexion a été annulée.",
  bad_oauth_state: startAgain,
  bad_oauth_callback: startAgain,
  oauth_invalid_state: startAgain,
  oauth_client_state_not_found: startAgain,
  oauth_client_state_expired: startAgain,
  provider_email_needs_verification: ({ provider }) =>
    `Consultez vos e-mails : ${provider} n’a pas confirmé cette adresse, nous vous avons donc envoyé un lien.`,
  flow_state_not_found: otherBrowser,
  flow_state_expired: otherBrowser,
  flow_state_already_used: otherBrowser,
  bad_code_verifier: otherBrowser,
  pkce_code_verifier_not_found: otherBrowser,
  invite_not_found: "Cette invitation n’est plus valable.",
  sso_provider_not_found: noSso,
  sso_provider_disabled: noSso,
  saml_idp_not_found: noSso,
  saml_provider_disabled: noSso,
  saml_relay_state_expired: ssoUnfinished,
  saml_relay_state_not_found: ssoUnfinished,
  saml_assertion_no_email: ssoUnfinished,
  saml_assertion_no_user_id: ssoUnfinished,

  webauthn_credential_not_found: "Cette clé d’accès n’est pas enregistrée ici.",
  webauthn_challenge_expired: tryAgain,
  webauthn_challenge_not_found: tryAgain,
  webauthn_verification_failed: "La clé d’accès n’a pas pu être vérifiée.",
  webauthn_credential_exists: "Cet appareil a déjà une clé d’accès.",
  passkey_disabled: "Les clés d’accès sont désactivées.",
  too_many_passkeys: "Retirez d’abord une clé d’accès.",

  hook_timeout: badServer,
  hook_timeout_after_retry: badServer,
  request_timeout: badServer,
  unexpected_failure: badServer,
  conflict: badServer,
  sms_send_failed: "Le message n’a pas pu être envoyé. Vérifiez le numéro ou réessayez plus tard.",
  feature_disabled: "Cette fonction n’est pas disponible ici.",
  csrf_rejected: "Veuillez recharger la page et réessayer.",
};

export const errors: Texts["errors"] = {
  codes,
  screens: {
    "sign-in": { validation_failed: badEmail },
    "sign-up": { validation_failed: badEmail, email_exists: exists },
    email: { validation_failed: badEmail },
    phone: { validation_failed: "Saisissez un numéro tel que +33 6 12 34 56 78." },
    confirm: { otp_expired: linkExpired },
    callback: { otp_expired: linkExpired },
  },
  weaknesses: {
    length: "Utilisez davantage de caractères.",
    characters: "Ajoutez les types de caractères manquants.",
    pwned: "Ce mot de passe figure dans une fuite de données ; choisissez-en un autre.",
  },
  unknown: (code) => `Une erreur s’est produite. Veuillez réessayer. (${code})`,
  unknownWithRequest: (code, request) =>
    `Une erreur s’est produite. Veuillez réessayer. (${code}, requête ${request})`,
  thisProvider: "ce fournisseur",
};
