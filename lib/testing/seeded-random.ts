// seeded-random.ts owns chance in a simulation: one seed, one stream of numbers, and streams of their own for parts that must not disturb
// each other.

import type { Random } from '../core/ports.ts';

/** A stream of numbers that depends on its seed only. */
export interface SeededRandom extends Random {
  /** An integer from 0 to `n - 1`. `n` is at least 1. */
  below(n: number): number;
  /** An integer from `from` to `to`, both included. */
  between(from: number, to: number): number;
  /** True with this probability. */
  chance(probability: number): boolean;
  /** One element of a list that is not empty. */
  pick<T>(from: readonly T[]): T;
  /** The same elements in another order. */
  shuffled<T>(list: readonly T[]): T[];
  /** Mostly small numbers, up to `max`: each doubling is about as likely as the one before it. At least 1. */
  skewed(max: number): number;
  /** A stream of its own: draws from it do not move this one. */
  fork(label: string): SeededRandom;
}

/** A 32-bit mix of a text into a number; also what the trace of a simulation is hashed with. */
export function mixText(hash: number, text: string): number {
  let h = hash | 0;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193) ^ (h >>> 15);
  return h >>> 0;
}

/** @param seed any integer; only its low 32 bits count */
export function seededRandom(seed: number): SeededRandom {
  // Two Weyl sequences of different stride, finished by a multiplicative mix: small, and good enough to choose between a few dozen things.
  let a = seed | 0;
  let b = Math.imul(seed ^ 0x5bf03635, 0x85ebca6b) | 0;
  const bits = (): number => {
    a = (a + 0x9e3779b9) | 0;
    b = (b + 0x3c6ef372 + (a >>> 27)) | 0;
    let x = a ^ (b << 13) ^ (b >>> 19);
    x = Math.imul(x ^ (x >>> 16), 0x45d9f3b5);
    x = Math.imul(x ^ (x >>> 13), 0x2c1b3c6d);
    return (x ^ (x >>> 16)) >>> 0;
  };
  const below = (n: number): number => Math.floor((bits() / 2 ** 32) * n);
  return {
    bits,
    below,
    between: (from, to) => from + below(to - from + 1),
    chance: (probability) => bits() / 2 ** 32 < probability,
    pick: (from) => from[below(from.length)]!,
    shuffled: (list) => {
      const out = [...list];
      for (let i = out.length - 1; i > 0; i--) {
        const j = below(i + 1);
        [out[i], out[j]] = [out[j]!, out[i]!];
      }
      return out;
    },
    skewed: (max) => {
      const scale = 2 ** ((bits() / 2 ** 32) * Math.log2(max + 1));
      return Math.min(max, Math.max(1, Math.floor(scale)));
    },
    fork: (label) => seededRandom(mixText(seed ^ 0x7f4a7c15, label)),
  };
}
