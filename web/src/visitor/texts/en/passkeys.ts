export const passkeys = {
  title: "Passkeys",
  lead: "Sign in with your fingerprint, your face or your device's PIN instead of a password.",
  loading: "Loading your passkeys",
  none: "You have no passkey yet.",
  /** Name of a passkey without one. */
  passkey: "Passkey",
  add: "Add a passkey",
  waitingForDevice: "Waiting for your device…",
  added: "Passkey added.",

  rename: "Rename",
  renameOf: (name: string) => `Rename ${name}`,
  renameTitle: "Rename passkey",
  save: "Save",
  renamed: "Renamed.",
  removeText:
    "You won't be able to sign in with it any more. It may stay on your device; remove it there, too.",
};
