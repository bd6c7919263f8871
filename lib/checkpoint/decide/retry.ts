// When is a failed confirmation (a sink's commit) tried again? Always, and ever less often: what was promised is never given up.

const firstMs = 100;
const longestMs = 10_000;

/** @param failures  failed tries so far, at least 1 */
export function retryDelayMs(failures: number): number {
  return Math.min(firstMs * 2 ** Math.min(failures - 1, 20), longestMs);
}
