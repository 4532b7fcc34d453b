import { useState } from "react";

import { callingCodes } from "../lib/calling-codes";
import { texts } from "../texts";
import { Select, TextField } from "../../components/field";

type Props = {
  name: string;
  value: string;
  error?: string | undefined;
  onValue: (value: string) => void;
  onBlur?: () => void;
};

const countries = callingCodes();

/** A phone number; the calling code can be selected or typed. */
export function PhoneField({ name, value, error, onValue, onBlur }: Props) {
  const [country, setCountry] = useState("");
  const selectCountry = (region: string) => {
    setCountry(region);
    const chosen = countries.find((entry) => entry.region === region);
    if (!chosen) return;
    const rest = value.replace(/^\+\d*\s*/, "").replace(/^0+/, "");
    onValue(`+${chosen.code} ${rest}`);
  };
  return (
    <div className="grid gap-4">
      <Select name={`${name}-country`} label={texts.common.country} value={country} onValue={selectCountry}>
        <option value="">{texts.common.chooseCountry}</option>
        {countries.map(({ region, label, code }) => (
          <option key={region} value={region}>
            {label} (+{code})
          </option>
        ))}
      </Select>
      <TextField
        name={name}
        label={texts.common.phoneNumber}
        type="tel"
        inputMode="tel"
        autoComplete="tel"
        placeholder={texts.common.phoneExample}
        value={value}
        error={error}
        onValue={onValue}
        onBlur={onBlur}
      />
    </div>
  );
}
