// What the server writes into the page (client contract U13), read once.
//
// The contract with `crates/platform/src/account`: one element
// `<script type="application/json" id="plinth-account">` that holds an object of this form.

import * as texts from "../texts";

export type ProfileField = { key: string; label: string; required: boolean; max: number };

export type AccountSettings = {
  /** Path of the pages without a slash at its end: "" or "/p/<ref>", followed by the operator's path. */
  mount: string;
  /** Base of the project's services. */
  projectUrl: string;
  /** The project's publishable key. */
  key: string;
  /** Name of the session's cookies. */
  storageKey: string;
  title: string;
  logo: string | null;
  accent: string | null;
  supportUrl: string | null;
  termsUrl: string | null;
  privacyUrl: string | null;
  consent: boolean;
  profileFields: ProfileField[];
  selfDelete: boolean;
  password: { minLength: number; characters: string[] };
  email: { codeLength: number; doubleConfirm: boolean; magicLink: boolean };
  sms: { codeLength: number };
  mfa: { totp: boolean; phone: boolean; phoneCodeLength: number; webAuthn: boolean };
  manualLinking: boolean;
  captcha: { provider: "hcaptcha" | "turnstile"; key: string } | null;
};

const defaults: AccountSettings = {
  mount: "",
  projectUrl: "",
  key: "",
  storageKey: "",
  title: texts.common.yourAccount,
  logo: null,
  accent: null,
  supportUrl: null,
  termsUrl: null,
  privacyUrl: null,
  consent: false,
  profileFields: [],
  selfDelete: true,
  password: { minLength: 6, characters: [] },
  email: { codeLength: 6, doubleConfirm: true, magicLink: true },
  sms: { codeLength: 6 },
  mfa: { totp: true, phone: false, phoneCodeLength: 6, webAuthn: false },
  manualLinking: false,
  captcha: null,
};

function read(): AccountSettings {
  const text = globalThis.document?.getElementById("plinth-account")?.textContent;
  return text?.trim() ? { ...defaults, ...(JSON.parse(text) as Partial<AccountSettings>) } : defaults;
}

export const settings = read();

/** An address of these pages, for links in mails and returns from providers. */
export const pageUrl = (path: string) => new URL(settings.mount + path, globalThis.location?.origin).href;
