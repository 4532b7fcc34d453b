import clsx from "clsx";
import type { ReactNode, TextareaHTMLAttributes } from "react";

import { describedBy, FieldLayout, inputClass, useFieldId } from "./field";

type Props = Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "onChange" | "value"> & {
  label: ReactNode;
  name: string;
  value: string;
  onValue: (value: string) => void;
  error?: string | undefined;
  hint?: ReactNode;
  isCode?: boolean;
};

/** Several lines of text; it grows with them where the browser can. */
export function TextAreaField({
  label,
  name,
  value,
  onValue,
  error,
  hint,
  isCode,
  className,
  ...props
}: Props) {
  const id = useFieldId(name);
  return (
    <FieldLayout id={id} label={label} error={error} hint={hint}>
      <textarea
        rows={4}
        spellCheck={isCode ? false : undefined}
        {...props}
        id={id}
        name={name}
        value={value}
        onChange={(event) => onValue(event.target.value)}
        aria-invalid={error ? true : undefined}
        aria-describedby={describedBy(id, error, hint)}
        className={clsx(
          inputClass,
          "field-sizing-content max-h-96 resize-y py-1.5 leading-snug",
          isCode && "font-mono text-dense!",
          className,
        )}
      />
    </FieldLayout>
  );
}
