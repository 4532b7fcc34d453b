import type { Texts } from "..";

const signedOut = "Você foi desconectado. Entre novamente.";
const turnedOff = "Esta forma de entrar está desativada.";
const methodOff = "Este método está desativado.";
const badServer = "O servidor demorou demais ou teve um problema. Tente novamente.";
const startAgain = "O acesso não foi concluído. Comece novamente.";
const otherBrowser = "Abra o link no navegador em que você começou, ou peça um novo.";
const noSso = "Não há login único configurado para este domínio.";
const ssoUnfinished =
  "O acesso da sua organização não foi concluído. Comece novamente ou fale com o seu administrador.";
const tryAgain = "Tente novamente.";
const exists = "Já existe uma conta com este e-mail. Entre ou redefina sua senha.";
const badEmail = "Digite um e-mail válido.";
const linkExpired = "Este link expirou ou já foi usado.";
const waitToSend = ({ seconds }: { seconds: number }) =>
  `Aguarde ${seconds} s antes de pedir outra mensagem.`;
const noProvider = ({ provider }: { provider: string }) => `O acesso com ${provider} não está disponível.`;

const codes: Texts["errors"]["codes"] = {
  offline: "Não conseguimos acessar o servidor. Verifique sua conexão e tente novamente.",
  server_error: badServer,
  cancelled: "Nada foi alterado.",
  key_not_used: "A chave de segurança não foi usada. Tente novamente.",

  invalid_credentials: "O e-mail ou a senha está incorreto.",
  email_not_confirmed: "Confirme primeiro seu e-mail.",
  phone_not_confirmed: "Confirme primeiro seu telefone.",
  user_already_exists: exists,
  email_exists: "Esse endereço não pode ser usado.",
  phone_exists: "Esse número não pode ser usado.",
  email_address_invalid: badEmail,
  validation_failed: "Algo neste formulário não está certo. Verifique-o.",
  email_address_not_authorized: "Não podemos enviar e-mails para este endereço. Fale com o operador.",
  weak_password: "Escolha uma senha mais forte.",
  same_password: "Escolha uma senha que você ainda não usou aqui.",
  current_password_required: "Digite sua senha atual.",
  current_password_invalid: "Sua senha atual está incorreta.",
  reauthentication_needed: "Confirme que é você com o código que enviamos.",
  reauthentication_not_valid: "Esse código está incorreto ou expirou.",
  reauth_nonce_missing: "Digite o código.",
  otp_expired: "Código incorreto ou expirado.",
  otp_disabled: turnedOff,
  signup_disabled: turnedOff,
  email_provider_disabled: turnedOff,
  phone_provider_disabled: turnedOff,
  anonymous_provider_disabled: turnedOff,
  over_email_send_rate_limit: waitToSend,
  over_sms_send_rate_limit: waitToSend,
  over_request_rate_limit: "Muitas tentativas. Tente novamente em alguns minutos.",
  captcha_failed: "A verificação falhou. Tente novamente.",
  captcha_expired: "O tempo da verificação acabou. Tente novamente.",
  user_banned: "Esta conta está suspensa. Fale com o suporte.",

  user_not_found: signedOut,
  session_not_found: signedOut,
  session_expired: signedOut,
  refresh_token_not_found: signedOut,
  refresh_token_already_used: signedOut,
  bad_jwt: signedOut,
  no_authorization: signedOut,

  user_sso_managed: "Sua organização gerencia isto; altere lá.",
  insufficient_aal: "Confirme com sua segunda etapa para continuar.",
  mfa_verification_failed: "Esse código não está certo. Os códigos mudam a cada 30 segundos.",
  mfa_challenge_expired: "Digite um novo código.",
  mfa_ip_address_mismatch: "Sua rede mudou nesse meio-tempo. Comece esta etapa novamente.",
  mfa_verification_rejected: ({ message }) => message || "Esta etapa foi recusada.",
  mfa_factor_name_conflict: "Você já tem um método com este nome.",
  mfa_factor_not_found: "Esse método não existe mais.",
  too_many_enrolled_mfa_factors: "Remova um método antes de adicionar outro.",
  mfa_verified_factor_exists: "Este número já está configurado.",
  mfa_totp_enroll_not_enabled: methodOff,
  mfa_totp_verify_not_enabled: methodOff,
  mfa_phone_enroll_not_enabled: methodOff,
  mfa_phone_verify_not_enabled: methodOff,
  mfa_webauthn_enroll_not_enabled: methodOff,
  mfa_webauthn_verify_not_enabled: methodOff,
  mfa_recovery_codes_locked: "Muitos códigos incorretos; use outro método.",
  mfa_recovery_codes_sole_factor: "Adicione primeiro outro método.",

  identity_already_exists: "Essa conta já está conectada a outro usuário.",
  identity_not_found: "Essa conexão não existe mais.",
  single_identity_not_deletable: "Adicione primeiro outra forma de entrar.",
  email_conflict_identity_not_deletable:
    "O e-mail que restaria para você após esta alteração já pertence a outro usuário.",
  manual_linking_disabled: "Conectar contas está desativado aqui.",
  provider_disabled: noProvider,
  oauth_provider_not_supported: noProvider,
  access_denied: "O acesso foi cancelado.",
  bad_oauth_state: startAgain,
  bad_oauth_callback: startAgain,
  oauth_invalid_state: startAgain,
  oauth_client_state_not_found: startAgain,
  oauth_client_state_expired: startAgain,
  provider_email_needs_verification: ({ provider }) =>
    `Verifique seu e-mail: ${provider} não confirmou este endereço, então enviamos um link para você.`,
  flow_state_not_found: otherBrowser,
  flow_state_expired: otherBrowser,
  flow_state_already_used: otherBrowser,
  bad_code_verifier: otherBrowser,
  pkce_code_verifier_not_found: otherBrowser,
  invite_not_found: "Este convite não é mais válido.",
  sso_provider_not_found: noSso,
  sso_provider_disabled: noSso,
  saml_idp_not_found: noSso,
  saml_provider_disabled: noSso,
  saml_relay_state_expired: ssoUnfinished,
  saml_relay_state_not_found: ssoUnfinished,
  saml_assertion_no_email: ssoUnfinished,
  saml_assertion_no_user_id: ssoUnfinished,

  webauthn_credential_not_found: "Esta chave de acesso não está registrada aqui.",
  webauthn_challenge_expired: tryAgain,
  webauthn_challenge_not_found: tryAgain,
  webauthn_verification_failed: "A chave de acesso não pôde ser verificada.",
  webauthn_credential_exists: "Este dispositivo já tem uma chave de acesso.",
  passkey_disabled: "As chaves de acesso estão desativadas.",
  too_many_passkeys: "Remova primeiro uma chave de acesso.",

  hook_timeout: badServer,
  hook_timeout_after_retry: badServer,
  request_timeout: badServer,
  unexpected_failure: badServer,
  conflict: badServer,
  sms_send_failed: "Não conseguimos enviar a mensagem. Verifique o número ou tente mais tarde.",
  feature_disabled: "Isto não está disponível aqui.",
  csrf_rejected: "Recarregue a página e tente novamente.",
};

export const errors: Texts["errors"] = {
  codes,
  screens: {
    "sign-in": { validation_failed: badEmail },
    "sign-up": { validation_failed: badEmail, email_exists: exists },
    email: { validation_failed: badEmail },
    phone: { validation_failed: "Digite um número como +55 11 91234 5678." },
    confirm: { otp_expired: linkExpired },
    callback: { otp_expired: linkExpired },
  },
  weaknesses: {
    length: "Use mais caracteres.",
    characters: "Adicione os tipos de caracteres que faltam.",
    pwned: "Esta senha apareceu em um vazamento de dados; escolha outra.",
  },
  unknown: (code) => `Algo deu errado. Tente novamente. (${code})`,
  unknownWithRequest: (code, request) =>
    `Algo deu errado. Tente novamente. (${code}, solicitação ${request})`,
  thisProvider: "este provedor",
};
