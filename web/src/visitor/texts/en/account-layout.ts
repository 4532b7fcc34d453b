/** Layout of the pages for signed-in users. */
export const accountLayout = {
  skip: "Skip to content",
  navigation: "Account",
  profile: "Profile",
  password: "Password",
  security: "Two-step verification",
  identities: "Connected accounts",
  sessions: "Devices",
  delete: "Delete account",
  weakPassword: "Your password is weaker than we ask for today.",
  chooseStronger: "Choose a stronger one",
  notNow: "Not now",
  toProfile: "Go to your profile",
};
