// limits.ts keeps the bounds that more than one file needs, each with its unit in its name and its reason beside it.

export const KiB = 1_024;
export const MiB: number = 1_024 * KiB;

/** Levels of nesting in a value. Deeper data is nearly always a cycle, and the walk is recursive, so the call stack must not decide. */
export const valueDepthMax = 1_000;

/** Levels of nesting in a key. A key is compared and hashed for each record; deeper ones are mistakes. */
export const keyDepthMax = 64;

/** Bytes of the largest bigint that V8 can make (2^30 bits); a longer one in stored bytes is damage. */
export const bigintBytesMax: number = 2 ** 27;

/** Flink's upper bound of the maximum parallelism: a key group fits into 16 bits. */
export const maxParallelismMax = 32_768;

/** Maximum parallelism when the job names none; part of every checkpoint, so it must never change by itself. */
export const maxParallelismDefault = 128;

/** `5 MiB` for whole mebibytes and kibibytes, else bytes: how messages say a size. */
export function formatBytes(bytes: number): string {
  if (bytes >= MiB) return `${trimmed(bytes / MiB)} MiB`;
  if (bytes >= KiB) return `${trimmed(bytes / KiB)} KiB`;
  return bytes === 1 ? '1 byte' : `${bytes} bytes`;
}

function trimmed(n: number): string {
  return String(Math.round(n * 10) / 10);
}

/** Bytes that one writer holds: above it a buffer cannot be allocated on every platform, and a shared part repeated for ever ends here. */
export const writerBytesMax: number = 2 ** 31 - 1;
