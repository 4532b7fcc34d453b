/** Not covered by `Intl`. */
export const dates = {
  justNow: "just now",
};
