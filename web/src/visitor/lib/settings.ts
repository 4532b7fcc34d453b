// Settings that the server embeds in the page (client contract U13).
//
// `crates/platform/src/account` writes them as JSON into one element,
// `<script type="application/json" id="plinth-account">`.

export type ProfileField = {
  key: string;
  label: string;
  /** By language. */
  labels?: Record<string, string>;
  required: boolean;
  max: number;
};

export type AccountSettings = {
  /** Base path without a trailing slash: "" or "/p/<ref>", followed by the operator's path. */
  mount: string;
  /** Base URL of the project's services. */
  projectUrl: string;
  /** The project's publishable key. */
  key: string;
  /** Name of the session cookies. */
  storageKey: string;
  /** Path of the session cookies: the project's, where it shares its host with others. */
  cookiePath: string;
  /** Paths of this host that belong to other projects. */
  otherProjects: string[];
  /** The `next` of this page's URL that leads to another origin, if the server allows it. */
  next: { asked: string; url: string } | null;
  /** The application, for users who did not come from it. */
  application: string | null;
  /** Languages of the pages; the first one is for browsers that want none of them. */
  languages: string[];
  /** Name of the service; see `serviceName`. */
  title: string | null;
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
  cookiePath: "/",
  otherProjects: [],
  next: null,
  application: null,
  languages: ["en"],
  title: null,
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

function readSettings(): AccountSettings {
  const text = globalThis.document?.getElementById("plinth-account")?.textContent;
  return text?.trim() ? { ...defaults, ...(JSON.parse(text) as Partial<AccountSettings>) } : defaults;
}

export const settings = readSettings();

/** The absolute URL of one of these pages, for e-mail links and OAuth redirects. */
export const pageUrl = (path: string) => new URL(settings.mount + path, globalThis.location?.origin).href;
