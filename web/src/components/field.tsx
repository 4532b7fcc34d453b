import clsx from "clsx";
import { Eye, EyeOff } from "lucide-react";
import {
  createContext,
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  useContext,
  useId,
  useState,
} from "react";

import { words } from "../texts/words";

export type FieldProps = Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value"> & {
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

export const useFieldId = (name: string) => fieldId(useContext(FormId), name);

export const inputClass =
  "min-h-target w-full rounded-md border border-line-strong bg-surface px-[calc(var(--control)*0.27)] text-field text-text " +
  "transition-colors duration-(--ease) placeholder:text-soft hover:border-text " +
  "aria-invalid:border-danger aria-invalid:shadow-[inset_0_0_0_1px_var(--danger)]";

type FieldLayoutProps = Pick<FieldProps, "label" | "error" | "hint" | "aside"> & {
  id: string;
  children: ReactNode;
};

export function FieldLayout({ id, label, error, hint, aside, children }: FieldLayoutProps) {
  return (
    <div className="grid gap-1.5">
      <div className="flex items-baseline justify-between gap-4">
        <label htmlFor={id} className="text-label font-medium">
          {label}
        </label>
        {aside}
      </div>
      {children}
      {hint && (
        <div id={`${id}-hint`} className="text-label text-soft">
          {hint}
        </div>
      )}
      {error && (
        <p id={`${id}-error`} className="text-label font-medium text-danger">
          <span className="sr-only">{words.errorMark}</span>
          {error}
        </p>
      )}
    </div>
  );
}

export const describedBy = (id: string, error: string | undefined, hint: ReactNode) =>
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

/** A masked field with a toggle to show it. */
export function SecretField({
  label,
  revealLabel,
  name,
  value,
  onValue,
  error,
  hint,
  aside,
  ref,
  ...props
}: FieldProps & { revealLabel: string }) {
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
          aria-label={revealLabel}
          onClick={() => setShown(!isShown)}
          className="absolute inset-y-0.5 end-0.5 grid w-11 place-items-center rounded-md text-soft hover:text-text"
        >
          <Icon aria-hidden className="size-[1.125rem]" />
        </button>
      </div>
    </FieldLayout>
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
        <p id={`${id}-error`} className="text-label font-medium text-danger">
          <span className="sr-only">{words.errorMark}</span>
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
      <label htmlFor={id} className="text-label font-medium">
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
