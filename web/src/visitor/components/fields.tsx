// Fields of accounts: e-mail addresses, passwords and one-time codes.

import { useRef, type ReactNode } from "react";

import { type FieldProps, SecretField, TextField } from "../../components/field";
import { extractDigits } from "../lib/validation";
import { texts } from "../texts";

export function EmailField(props: Omit<FieldProps, "label"> & { label?: ReactNode }) {
  return (
    <TextField
      label={texts.common.email}
      type="email"
      inputMode="email"
      autoComplete="username"
      autoCapitalize="none"
      spellCheck={false}
      {...props}
    />
  );
}

/** A password field with a toggle to show it. */
export function PasswordField(props: FieldProps) {
  const { label } = props;
  const revealLabel = typeof label === "string" ? texts.common.showField(label) : texts.common.showPassword;
  return <SecretField {...props} revealLabel={revealLabel} />;
}

type CodeProps = Omit<FieldProps, "label"> & {
  label?: ReactNode;
  length: number;
  /** Called once when the code is complete. */
  onComplete: (code: string) => void;
};

/** A one-time code: digits only, submitted automatically when complete. */
export function CodeField({
  label = texts.common.code,
  length,
  value,
  onValue,
  onComplete,
  ...props
}: CodeProps) {
  const submitted = useRef("");
  const accept = (text: string) => {
    const digits = extractDigits(text).slice(0, 10);
    onValue(digits);
    if (digits.length === length && digits !== submitted.current) {
      submitted.current = digits;
      onComplete(digits);
    }
    if (digits.length < length) submitted.current = "";
  };
  return (
    <TextField
      {...props}
      label={label}
      value={value}
      onValue={accept}
      onPaste={(event) => {
        // The browser would truncate the pasted text to `maxLength` before the digits are extracted.
        event.preventDefault();
        accept(event.clipboardData.getData("text"));
      }}
      inputMode="numeric"
      autoComplete="one-time-code"
      maxLength={10}
      className="font-mono text-xl tracking-[0.35em]"
    />
  );
}
