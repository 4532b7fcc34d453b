import clsx from "clsx";
import { Eye, EyeOff } from "lucide-react";
import { type InputHTMLAttributes, type ReactNode, type Ref, useId, useRef, useState } from "react";

import { digitsOf } from "../lib/validation";
import * as texts from "../texts";

type Base = Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value"> & {
  label: ReactNode;
  name: string;
  value: string;
  onValue: (value: string) => void;
  error?: string | undefined;
  hint?: ReactNode;
  /** Beside the label, at the end of its line. */
  aside?: ReactNode;
  ref?: Ref<HTMLInputElement>;
};

/** The id of a field, so that summaries can lead there. */
export const fieldId = (name: string) => `field-${name}`;

const inputClass =
  "min-h-target w-full rounded-md border border-line-strong bg-surface px-3 text-base text-text " +
  "transition-colors duration-(--ease) placeholder:text-soft hover:border-text " +
  "aria-invalid:border-danger aria-invalid:shadow-[inset_0_0_0_1px_var(--danger)]";

function Frame({
  label,
  name,
  error,
  hint,
  aside,
  children,
}: Omit<Base, "value" | "onValue"> & { children: ReactNode }) {
  return (
    <div className="grid gap-1.5">
      <div className="flex items-baseline justify-between gap-4">
        <label htmlFor={fieldId(name)} className="text-sm font-medium">
          {label}
        </label>
        {aside}
      </div>
      {children}
      {hint && (
        <div id={`${fieldId(name)}-hint`} className="text-sm text-soft">
          {hint}
        </div>
      )}
      {error && (
        <p id={`${fieldId(name)}-error`} className="text-sm font-medium text-danger">
          <span className="sr-only">{texts.common.errorMark}</span>
          {error}
        </p>
      )}
    </div>
  );
}

const described = (name: string, error: string | undefined, hint: ReactNode) =>
  clsx(error && `${fieldId(name)}-error`, !!hint && `${fieldId(name)}-hint`) || undefined;

export function TextField({
  label,
  name,
  value,
  onValue,
  error,
  hint,
  aside,
  className,
  ref,
  ...props
}: Base) {
  return (
    <Frame label={label} name={name} error={error} hint={hint} aside={aside}>
      <input
        {...props}
        ref={ref}
        id={fieldId(name)}
        name={name}
        value={value}
        onChange={(event) => onValue(event.target.value)}
        aria-invalid={error ? true : undefined}
        aria-describedby={described(name, error, hint)}
        className={clsx(inputClass, className)}
      />
    </Frame>
  );
}

export function EmailField(props: Omit<Base, "label"> & { label?: ReactNode }) {
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

/** A password that can be looked at. */
export function PasswordField({ label, name, value, onValue, error, hint, aside, ref, ...props }: Base) {
  const [isShown, setShown] = useState(false);
  const Icon = isShown ? EyeOff : Eye;
  return (
    <Frame label={label} name={name} error={error} hint={hint} aside={aside}>
      <div className="relative">
        <input
          {...props}
          ref={ref}
          id={fieldId(name)}
          name={name}
          type={isShown ? "text" : "password"}
          value={value}
          onChange={(event) => onValue(event.target.value)}
          autoCapitalize="none"
          spellCheck={false}
          aria-invalid={error ? true : undefined}
          aria-describedby={described(name, error, hint)}
          className={clsx(inputClass, "pe-12")}
        />
        <button
          type="button"
          aria-pressed={isShown}
          aria-label={typeof label === "string" ? texts.common.showField(label) : texts.common.showPassword}
          onClick={() => setShown(!isShown)}
          className="absolute inset-y-0.5 end-0.5 grid w-11 place-items-center rounded-md text-soft hover:text-text"
        >
          <Icon aria-hidden className="size-[1.125rem]" />
        </button>
      </div>
    </Frame>
  );
}

type CodeProps = Omit<Base, "label"> & {
  label?: ReactNode;
  length: number;
  /** Called once when the code is complete. */
  onComplete: (code: string) => void;
};

/** A code from a message or an app: one input, digits only, sent by itself when complete. */
export function CodeField({
  label = texts.common.code,
  length,
  value,
  onValue,
  onComplete,
  ...props
}: CodeProps) {
  const sent = useRef("");
  const accept = (text: string) => {
    const digits = digitsOf(text).slice(0, 10);
    onValue(digits);
    if (digits.length === length && digits !== sent.current) {
      sent.current = digits;
      onComplete(digits);
    }
    if (digits.length < length) sent.current = "";
  };
  return (
    <TextField
      {...props}
      label={label}
      value={value}
      onValue={accept}
      onPaste={(event) => {
        // The browser would cut a pasted text at the greatest length before the digits are found.
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

type CheckboxProps = {
  name: string;
  label: ReactNode;
  isChecked: boolean;
  onCheck: (checked: boolean) => void;
  error?: string | undefined;
};

export function Checkbox({ name, label, isChecked, onCheck, error }: CheckboxProps) {
  return (
    <div className="grid gap-1.5">
      <div className="flex items-start gap-3">
        <input
          type="checkbox"
          id={fieldId(name)}
          name={name}
          checked={isChecked}
          onChange={(event) => onCheck(event.target.checked)}
          aria-invalid={error ? true : undefined}
          aria-describedby={described(name, error, null)}
          className="mt-0.5 size-5 shrink-0 accent-(--accent)"
        />
        <label htmlFor={fieldId(name)} className="text-sm">
          {label}
        </label>
      </div>
      {error && (
        <p id={`${fieldId(name)}-error`} className="text-sm font-medium text-danger">
          <span className="sr-only">{texts.common.errorMark}</span>
          {error}
        </p>
      )}
    </div>
  );
}

type SelectProps = {
  name: string;
  label: string;
  value: string;
  onValue: (value: string) => void;
  children: ReactNode;
};

export function Select({ name, label, value, onValue, children }: SelectProps) {
  const id = useId();
  return (
    <div className="grid gap-1.5">
      <label htmlFor={id} className="text-sm font-medium">
        {label}
      </label>
      <select
        id={id}
        name={name}
        value={value}
        onChange={(event) => onValue(event.target.value)}
        className={inputClass}
      >
        {children}
      </select>
    </div>
  );
}
