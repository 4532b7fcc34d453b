import { type RenderText, rich } from "../../../texts/rich";

export const signIn = {
  title: "Sign in",
  /** By the `reason` query parameter. */
  reasons: {
    expired: "You've been signed out. Please sign in again.",
    revoked: "This device was signed out.",
    signed_out: "You're signed out.",
  },
  newHere: (link: RenderText) => rich`New here? ${link("Create an account")}`,
  withCode: "Sign in with a code instead",
  withSso: "Use single sign-on",
  otherWay: "Use another way to sign in",
  back: "Back to sign-in",

  form: "Sign in with your password",
  forgot: "Forgot password?",
  resendConfirmation: "Send the confirmation again",
  submit: "Sign in",
  signingIn: "Signing in…",

  withPasskey: "Use a passkey",
  waitingForPasskey: "Waiting for your passkey…",
  noPasskeyUsed: "No passkey was used.",

  suspended: "This account is suspended",
};

/** OAuth provider buttons. */
export const providers = {
  continueWith: (provider: string) => `Continue with ${provider}`,
  opening: (provider: string) => `Opening ${provider}…`,
};

export const singleSignOn = {
  title: "Single sign-on",
  lead: "Sign in with your organisation.",
  workEmail: "Work e-mail",
  opening: "Opening…",
};
