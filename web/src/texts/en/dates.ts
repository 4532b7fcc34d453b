/** What `Intl` has no word for. */
export const dates = {
  justNow: "just now",
};
