// Fuzzy matching of names: the letters of the query in their order, better at the start of words and in a row.

export type Match = {
  score: number;
  /** Positions of the letters that matched. */
  positions: number[];
};

/** `null` if the text does not contain the letters in that order. Both are compared without case. */
export function fuzzyMatch(query: string, text: string): Match | null {
  const wanted = [...query.toLowerCase().replace(/\s+/g, "")];
  const lower = text.toLowerCase();
  if (wanted.length === 0) return { score: 0, positions: [] };

  // What is typed as it stands is better than scattered letters.
  const direct = lower.indexOf(query.toLowerCase().trim());
  if (direct >= 0) {
    const positions = wanted.map((_, index) => direct + index);
    const startsWord = isWordStart(text, direct) ? 20 : 0;
    return { score: 100 + startsWord + (direct === 0 ? 20 : 0) - Math.min(text.length, 60) / 4, positions };
  }

  // Jumping to starts of words may skip a letter that is needed later.
  return scattered(wanted, lower, text, true) ?? scattered(wanted, lower, text, false);
}

function scattered(wanted: string[], lower: string, text: string, prefersWords: boolean): Match | null {
  const positions: number[] = [];
  let score = 0;
  for (const letter of wanted) {
    const from = (positions.at(-1) ?? -1) + 1;
    const at = prefersWords ? bestPosition(lower, text, letter, from) : lower.indexOf(letter, from);
    if (at < 0) return null;
    if (positions.length > 0 && at === from) score += 5;
    if (isWordStart(text, at)) score += 8;
    score += 1;
    positions.push(at);
  }
  return { score: score - (positions.at(-1)! - positions[0]!) / 8, positions };
}

/** The start of a later word if there is one near, else the next occurrence. */
function bestPosition(lower: string, text: string, letter: string, from: number): number {
  const next = lower.indexOf(letter, from);
  if (next < 0 || next === from || isWordStart(text, next)) return next;
  for (let at = next; at >= 0; at = lower.indexOf(letter, at + 1)) if (isWordStart(text, at)) return at;
  return next;
}

function isWordStart(text: string, at: number): boolean {
  if (at === 0) return true;
  const before = text[at - 1]!;
  return /[\s_\-./:@]/.test(before) || (/[a-z]/.test(before) && /[A-Z]/.test(text[at]!));
}
