/**
 * The candidate that a mistyped name most likely meant, for unknown flags, configuration keys and field names.
 *
 * @returns the candidate with the smallest edit distance (insert, delete, replace, swap of neighbours; case counts for nothing), or
 *   undefined when none is close: more than a third of the name's length away, at least one edit being allowed
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
  const wanted = name.toLowerCase();
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/** Edits between two words; a swap of two neighbours is one edit. */
function editDistance(a: string, b: string): number {
  let beforePrevious: number[] = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, previous[j]! + 1, row[j - 1]! + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) least = Math.min(least, beforePrevious[j - 2]! + 1);
      row.push(least);
    }
    beforePrevious = previous;
    previous = row;
  }
  return previous[b.length]!;
}
