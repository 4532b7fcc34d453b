const signIn = { title: "Sign in", lead: "Continue to sign in on this device.", button: "Sign in" };

/** `/confirm`, the target of e-mail links. */
export const confirm = {
  /** By the `type` of the link. */
  kinds: {
    signup: {
      title: "Confirm your e-mail",
      lead: "One click, and your account is ready.",
      button: "Confirm e-mail",
    },
    email: signIn,
    magiclink: signIn,
    invite: {
      title: "Accept your invitation",
      lead: "Continue to set up your account.",
      button: "Accept invitation",
    },
    recovery: {
      title: "Reset your password",
      lead: "Continue to choose a new password.",
      button: "Continue",
    },
    email_change: {
      title: "Confirm your e-mail",
      lead: "Continue to use this address from now on.",
      button: "Confirm e-mail",
    },
  },
  confirming: "Confirming…",
  emailConfirmed: "Your e-mail address is confirmed.",
  oneMoreStep: "One more step",
  halfDone: "One confirmation received. Now open the link we sent to your other address.",

  expired: "This link no longer works",
  newResetLink: "Ask for a new reset link",
  newInvitation: "Ask whoever invited you to send another invitation.",
  changeEmailAgain: "Change your e-mail again",
  newLinkOrCode: "Ask for a new link or code",
  newLink: "Ask for a new link",
  sendNewLink: "Send a new link",

  incomplete: "This link is incomplete",
  incompleteLead:
    "Some mail programs cut long links. Open it again from the mail, or copy the whole address.",
  toSignIn: "Go to sign-in",
};
