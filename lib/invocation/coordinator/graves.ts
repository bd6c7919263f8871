// When something was buried. Nothing that an environment could still write to is removed while one could live.

import { decodeValue, encodeValue } from '../../core/value-codec.ts';
import type { JobItemContent } from '../ports.ts';

export const gravePrefix = 'grave/';

export function timeContent(ms: number): JobItemContent {
  return { bytes: encodeValue(ms), change: '' };
}

export function timeOf({ bytes }: { readonly bytes: Uint8Array }): number {
  return decodeValue(bytes) as number;
}
