// Words that depend on a number, by the plural rules of the language.

type Forms = { other: string } & Partial<Record<Intl.LDMLPluralRule, string>>;

/** Returns a function that picks the form of a number; languages name only the forms that differ. */
export function pluralFor(language: string): (count: number, forms: Forms) => string {
  const rules = new Intl.PluralRules(language);
  return (count, forms) => forms[rules.select(count)] ?? forms.other;
}
