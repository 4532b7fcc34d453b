import clsx from "clsx";
import { Eye, EyeOff } from "lucide-react";
import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  useContext,
  useId,
  useRef,
  useState,
} from "react";

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

/** The id of the form around a field: a dialog over a form may have fields with the same names. */
export const FormId = createContext("field");

/** The id of a field, so that the summary of its form can lead there. */
export const fieldId = (formId: string, name: string) => `${formId}-${name}`;

const useFieldId = (name: string) => fieldId(useContext(FormId), name);

const inputClass =
  "min-h-target w-full rounded-md border border-line-strong bg-surface px-3 text-base text-text " +
  "transition-colors duration-(--ease) placeholder:text-soft hover:border-text " +
  "aria-invalid:border-danger aria-invalid:shadow-[inset_0_0_0_1px_var(--danger)]";

type FrameProps = Pick<Base, "label" | "error" | "hint" | "aside"> & { id: string; children: ReactNode };

function Frame({ id, label, error, hint, aside, children }: FrameProps) {
  return (
    <div className="grid gap-1.5">
      <div className="flex items-baseline justify-between gap-4">
        <label htmlFor={id} className="text-sm font-medium">
          {label}
        </label>
        {aside}
      </div>
      {children}
      {hint && (
        <div id={`${id}-hint`} className="text-sm text-soft">
          {hint}
        </div>
      )}
      {error && (
        <p id={`${id}-error`} className="text-sm font-medium text-danger">
          <span className="sr-only">{texts.common.errorMark}</span>
          {error}
        </p>
      )}
    </div>
  );
}

const described = (id: string, error: string | undefined, hint: ReactNode) =>
  clsx(error && `${id}-error`, !!hint && `${id}-hint`) || undefined;

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
  const id = useFieldId(name);
  return (
    <Frame id={id} label={label} error={error} hint={hint} aside={aside}>
      <input
        {...props}
        ref={ref}
        id={id}
        name={name}
        value={value}
        onChange={(event) => onValue(event.target.value)}
        aria-invalid={error ? true : undefined}
        aria-describedby={described(id, error, hint)}
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
  const id = useFieldId(name);
  const [isShown, setShown] = useState(false);
  const Icon = isShown ? EyeOff : Eye;
  return (
    <Frame id={id} label={label} error={error} hint={hint} aside={aside}>
      <div className="relative">
        <input
          {...props}
          ref={ref}
          id={id}
          name={name}
          type={isShown ? "text" : "password"}
          value={value}
          onChange={(event) => onValue(event.target.value)}
          autoCapitalize="none"
          spellCheck={false}
          aria-invalid={error ? true : undefined}
          aria-describedby={described(id, error, hint)}
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
  const id = useFieldId(name);
  return (
    <div className="grid gap-1.5">
      <div className="flex items-start gap-3">
        <input
          type="checkbox"
          id={id}
          name={name}
          checked={isChecked}
          onChange={(event) => onCheck(event.target.checked)}
          aria-invalid={error ? true : undefined}
          aria-describedby={described(id, error, null)}
          className="mt-0.5 size-5 shrink-0 accent-(--accent)"
        />
        <label htmlFor={id} className="text-sm">
          {label}
        </label>
      </div>
      {error && (
        <p id={`${id}-error`} className="text-sm font-medium text-danger">
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
