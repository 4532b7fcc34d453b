export const changePassword = {
  title: "Change your password",
  titleFirst: "Set a password",
  current: "Current password",
  consequences: "Your other devices are signed out, and links we sent you before no longer work.",
  save: "Save password",
  /** Shown if the user continues to `next`. */
  notNow: "Not now",
};
