/** Step-up authentication. */
export const stepUp = {
  title: "Confirm it's you",
  isSending: (address: string) => `We're sending a code to ${address}. Type it here to confirm it's you.`,
  sentTo: (address: string) => `We sent a code to ${address}. Type it here to confirm it's you.`,
  confirm: "Confirm",
};
