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

import { extractDigits } from "../lib/validation";
import { texts } from "../texts";

type FieldProps = Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value"> & {
  label: ReactNode;
  name: string;
  value: string;
  onValue: (value: string) => void;
  error?: string | undefined;
  hint?: ReactNode;
  /** At the end of the label's line. */
  aside?: ReactNode;
  ref?: Ref<HTMLInputElement>;
};

/** The form's id, a prefix of field ids: a dialog over a form may contain fields of the same name. */
export const FormId = createContext("field");

/** A field's id, which the error summary of its form links to. */
export const fieldId = (formId: string, name: string) => `${formId}-${name}`;

const useFieldId = (name: string) => fieldId(useContext(FormId), name);

const inputClass =
  "min-h-target w-full rounded-md border border-line-strong bg-surface px-3 text-base text-text " +
  "transition-colors duration-(--ease) placeholder:text-soft hover:border-text " +
  "aria-invalid:border-danger aria-invalid:shadow-[inset_0_0_0_1px_var(--danger)]";

type FieldLayoutProps = Pick<FieldProps, "label" | "error" | "hint" | "aside"> & {
  id: string;
  children: ReactNode;
};

function FieldLayout({ id, label, error, hint, aside, children }: FieldLayoutProps) {
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

const describedBy = (id: string, error: string | undefined, hint: ReactNode) =>
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
}: FieldProps) {
  const id = useFieldId(name);
  return (
    <FieldLayout id={id} label={label} error={error} hint={hint} aside={aside}>
      <input
        {...props}
        ref={ref}
        id={id}
        name={name}
        value={value}
        onChange={(event) => onValue(event.target.value)}
        aria-invalid={error ? true : undefined}
        aria-describedby={describedBy(id, error, hint)}
        className={clsx(inputClass, className)}
      />
    </FieldLayout>
  );
}

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
export function PasswordField({
  label,
  name,
  value,
  onValue,
  error,
  hint,
  aside,
  ref,
  ...props
}: FieldProps) {
  const id = useFieldId(name);
  const [isShown, setShown] = useState(false);
  const Icon = isShown ? EyeOff : Eye;
  return (
    <FieldLayout id={id} label={label} error={error} hint={hint} aside={aside}>
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
          aria-describedby={describedBy(id, error, hint)}
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
    </FieldLayout>
  );
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
          aria-describedby={describedBy(id, error, null)}
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
