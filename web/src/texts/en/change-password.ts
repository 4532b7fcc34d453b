export const changePassword = {
  title: "Change your password",
  titleFirst: "Set a password",
  current: "Current password",
  consequences: "Your other devices are signed out, and links we sent you before no longer work.",
  save: "Save password",
  /** For those who were on their way elsewhere. */
  notNow: "Not now",
};
