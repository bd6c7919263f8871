// Values of jobs as JSON: accumulators may hold what JSON does not know, and a result line must not fail because of it.

/**
 * One line of JSON. A bigint becomes a number when that is exact, else text; a Map with text keys an object, any other Map an array of
 * pairs; a Set an array; bytes base64; numbers that JSON lacks their names. Line separators are escaped, so a line stays a line.
 */
export function jsonText(value: unknown): string {
  return JSON.stringify(value, (_key, v: unknown) => plain(v)).replace(/[\u2028\u2029]/g, (c) => `\\u${c.charCodeAt(0).toString(16)}`);
}

function plain(v: unknown): unknown {
  if (typeof v === 'bigint') return Number.isSafeInteger(Number(v)) ? Number(v) : String(v);
  if (typeof v === 'number' && !Number.isFinite(v)) return String(v);
  if (v instanceof Map) return [...v.keys()].every((k) => typeof k === 'string') ? Object.fromEntries(v) : [...v];
  if (v instanceof Set) return [...v];
  if (v instanceof Uint8Array) return Buffer.from(v.buffer, v.byteOffset, v.byteLength).toString('base64');
  return v;
}
