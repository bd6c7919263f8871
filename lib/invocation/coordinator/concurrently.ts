// Several requests under way at once, and not more than a bound.

/**
 * Results in the order of `list`. Everything that was begun is waited for, then the first failure is told.
 * @param most  under way at once, at least 1
 */
export async function concurrently<T, R>(list: readonly T[], most: number, work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = [];
  const failures: unknown[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < list.length && failures.length === 0) {
      const at = next++;
      try {
        results[at] = await work(list[at]!);
      } catch (e) {
        failures.push(e);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(most, list.length) }, lane));
  if (failures.length > 0) throw failures[0];
  return results;
}
