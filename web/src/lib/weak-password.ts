// Advice after signing in with a password that would not be accepted today (client contract S85).

const key = "plinth-weak-password";

export const adviseNewPassword = () => sessionStorage.setItem(key, "1");
export const isNewPasswordAdvised = () => sessionStorage.getItem(key) !== null;
export const endAdvice = () => sessionStorage.removeItem(key);
