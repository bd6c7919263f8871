// Keeps the bound of backends that hold all state in memory, unit by unit: a unit that would exceed it is refused before it is committed, because
// what is committed has to fit into every later snapshot. What the engine keeps for itself has no bound: it grows with what operators cannot help.

import { SluiceError } from '../../core/errors.ts';
import { formatBytes } from '../../core/limits.ts';
import type { StateWrite } from '../entry.ts';
import { isOfEngine } from './base.ts';
import type { Layers } from './layers.ts';
import { notKnown } from './not-resident.ts';
import { partitionText } from './overlay.ts';

export class SizeLimit {
  readonly #layers: Layers;
  readonly #bytesMax: number;
  readonly #subtask: string;
  /** By operator; `undefined`: to be counted. */
  #bytes: Map<string, number> | undefined;

  constructor(layers: Layers, bytesMax: number, subtask: string) {
    this.#layers = layers;
    this.#bytesMax = bytesMax;
    this.#subtask = subtask;
  }

  /** @throws SluiceError `STATE_TOO_LARGE` when the writes would make an operator's state larger than the bound */
  check(writes: readonly StateWrite[]): void {
    const bytes = this.#counted();
    if (bytes === undefined) return;
    const after = new Map(bytes);
    for (const write of writes) this.#count(after, write);
    for (const { address, value } of writes) {
      const size = after.get(address.operator) ?? 0;
      if (value !== undefined && size > this.#bytesMax)
        throw tooLarge(address.operator, address.state, size, this.#bytesMax, this.#subtask);
    }
  }

  /** The writes are about to be committed. */
  add(writes: readonly StateWrite[]): void {
    if (this.#bytes !== undefined) for (const write of writes) this.#count(this.#bytes, write);
  }

  #counted(): Map<string, number> | undefined {
    if (this.#bytes !== undefined) return this.#bytes;
    const { base, overlay } = this.#layers;
    const inBase = base.bytesByOperator();
    if (inBase === undefined) return undefined;
    const bytes = new Map(inBase);
    for (const piece of overlay.pieces()) {
      if (piece.kind === 'timers' || isOfEngine(piece.address)) continue;
      const before = base.peek(piece.address);
      grow(bytes, piece.address.operator, lengthOf(piece.versions.at(-1)?.bytes) - (before === notKnown ? 0 : lengthOf(before)));
    }
    this.#bytes = bytes;
    return bytes;
  }

  #count(bytes: Map<string, number>, { address, value }: StateWrite): void {
    if (isOfEngine(address)) return;
    const before = this.#layers.peek(address, partitionText(address));
    grow(bytes, address.operator, lengthOf(value) - (before === notKnown ? 0 : lengthOf(before)));
  }
}

function grow(bytes: Map<string, number>, operator: string, by: number): void {
  bytes.set(operator, (bytes.get(operator) ?? 0) + by);
}

function lengthOf(bytes: Uint8Array | undefined): number {
  return bytes?.length ?? 0;
}

export function tooLarge(operator: string, state: string, bytes: number, bytesMax: number, subtask: string): SluiceError {
  return new SluiceError('STATE_TOO_LARGE', {
    message: `state ${state} of operator ${operator} would have ${formatBytes(bytes)} with the operator's other states on subtask ${subtask}, the limit of the memory backend is ${formatBytes(bytesMax)}`,
    next: 'fix-the-job',
    advice: 'use FsStateBackend, raise maxStateSize, or spread the state over more subtasks',
    operator,
    state,
    subtask,
    bytes,
    bytesMax,
  });
}
