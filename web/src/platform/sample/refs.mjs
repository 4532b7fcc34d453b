// Repeatable refs of the sample projects, shared with scripts/screenshots.mjs.

/** Repeatable randomness. */
export function random(seed) {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

export function refOf(index) {
  const next = random(index * 7919 + 17);
  return Array.from({ length: 20 }, () => String.fromCharCode(97 + Math.floor(next() * 26))).join("");
}
