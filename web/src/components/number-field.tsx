import { type FieldProps, TextField } from "./field";

/** Digits, sign, point and exponent; partial numbers stay as they are while they are typed. */
const isPartialNumber = (text: string) => /^[-+]?\d*[.]?\d*([eE][-+]?\d*)?$/.test(text);

/**
 * A number as text: it is never converted, so no digit is lost (N12). Not `type="number"`, which changes the
 * value when the wheel turns.
 */
export function NumberField({ unit, onValue, ...props }: FieldProps & { unit?: string }) {
  return (
    <TextField
      {...props}
      aside={unit ? <span className="text-dense text-soft">{unit}</span> : props.aside}
      inputMode="decimal"
      autoComplete="off"
      className="tabular-nums"
      onValue={(text) => isPartialNumber(text.trim()) && onValue(text.trim())}
    />
  );
}
