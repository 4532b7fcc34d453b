export const signedOut = {
  title: "You're signed out",
  lead: "Your session on this device has ended.",
  signInAgain: "Sign in again",
};

export const accountDeleted = {
  title: "Your account is deleted",
  lead: (service: string) => `Thank you for having been with ${service}.`,
  nothingLeft: "Nothing of it is left on this device. You can close this page.",
};
