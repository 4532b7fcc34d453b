export function random(seed: number): () => number;
export function refOf(index: number): string;
