export const codeForm = {
  fromMail: "Code from the mail",
  stillWrong: "Still not right? Ask for a new code below.",
  checking: "Checking…",
};
