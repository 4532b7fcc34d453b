// Advice after signing in with a password that would not be accepted today (client contract S85). It is for
// the one who signed in with it, and for nobody who uses the same tab later.

const key = "plinth-weak-password";

export const adviseNewPassword = (userId: string) => sessionStorage.setItem(key, userId);
export const isNewPasswordAdvised = (userId: string) => sessionStorage.getItem(key) === userId;
export const endAdvice = () => sessionStorage.removeItem(key);
