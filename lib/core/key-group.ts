import { SluiceError } from './errors.ts';
import { murmur3Binary, murmur3Framed } from './hash.ts';
import { encodedOf, type StateKey } from './key-codec.ts';
import { keyTag } from './key-tags.ts';
import { maxParallelismMax } from './limits.ts';

// key-group.ts owns placement: which key group a key belongs to and which subtask owns a key group. Both are part of every stored
// format. The hash decides placement only, never identity.

/**
 * The key group of an encoded key: murmur3 of its bytes, modulo the maximum parallelism.
 * @param encoded  the binary string of `encodeKey`
 */
export function keyGroupOf(encoded: string, maxParallelism: number): number {
  return murmur3Binary(encoded) % maxParallelism;
}

const stringLead = keyTag.string.charCodeAt(0);

/** The key group of a key in normal form; the same as `keyGroupOf` of its encoding, without making one for ordinary strings. */
export function keyGroupOfKey(key: StateKey, maxParallelism: number): number {
  if (typeof key === 'string') {
    const hash = murmur3Framed(stringLead, key);
    if (hash >= 0) return hash % maxParallelism;
  }
  return keyGroupOf(encodedOf(key), maxParallelism);
}

/**
 * The subtask that owns a key group.
 * @see Flink, KeyGroupRangeAssignment.computeOperatorIndexForKeyGroup
 */
export function subtaskOfKeyGroup(group: number, maxParallelism: number, parallelism: number): number {
  return Math.floor((group * parallelism) / maxParallelism);
}

/** A run of key groups, both ends included. */
export interface KeyGroupRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The key groups of one subtask. The ranges of all subtasks follow each other without a gap, and sizes differ by at most one.
 * @throws SluiceError `PARALLELISM_INVALID` when the parallelism is not within 1 and the maximum, or the subtask is not below it
 * @see Flink, KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex
 */
export function keyGroupRange(subtask: number, maxParallelism: number, parallelism: number): KeyGroupRange {
  checkParallelism(maxParallelism, parallelism);
  if (!Number.isInteger(subtask) || subtask < 0 || subtask >= parallelism) {
    throw new SluiceError('PARALLELISM_INVALID', {
      message: `subtask ${subtask} does not exist at parallelism ${parallelism}`,
      next: 'report-a-bug',
      subtask,
      parallelism,
    });
  }
  return {
    first: Math.floor((subtask * maxParallelism + parallelism - 1) / parallelism),
    last: Math.floor(((subtask + 1) * maxParallelism - 1) / parallelism),
  };
}

/**
 * Checks a parallelism against its maximum.
 * @throws SluiceError `PARALLELISM_INVALID` naming the value and the bound it breaks
 */
export function checkParallelism(maxParallelism: number, parallelism: number): void {
  if (!Number.isInteger(maxParallelism) || maxParallelism < 1 || maxParallelism > maxParallelismMax) {
    throw new SluiceError('PARALLELISM_INVALID', {
      message: `maximum parallelism ${maxParallelism} is not a whole number from 1 to ${maxParallelismMax}`,
      next: 'fix-the-job',
      maxParallelism,
    });
  }
  if (!Number.isInteger(parallelism) || parallelism < 1 || parallelism > maxParallelism) {
    throw new SluiceError('PARALLELISM_INVALID', {
      message: `parallelism ${parallelism} is not a whole number from 1 to the maximum parallelism ${maxParallelism}`,
      next: 'fix-the-job',
      parallelism,
      maxParallelism,
    });
  }
}
