// Tags of rows that are written at once, as texts, and what it means when a row refuses one.
//   G1  Texts are ordered as the tags are. A number is its digits of base 36 behind how many there are; the letter in front is the format, above the
//       digits with which format 1 began and below the letter of transactions (rows/version-tags.ts).
//   G2  A row refuses silently only what its own run wrote before: that was left behind. A row of a run that began later says that two runs write it.

import type { RowFields, RowWrite } from '../../api/row-table.ts';
import type { RowTag } from '../../api/row-tag.ts';
import { SluiceError } from '../../core/errors.ts';
import { keyShown } from './rows/item-size.ts';
import { runOfTag, runTag, tagOfNothing } from './rows/version-tags.ts';

const letter = 'r';

export function tagText({ begunMs, generation, n, index }: RowTag): string {
  return letter + [begunMs, generation, n, index].map(sortable).join('');
}

function sortable(n: number): string {
  const digits = n.toString(36);
  return digits.length.toString(36) + digits;
}

/**
 * Tags of transactions that are older than a write all the same: those of runs that began before it. With them a job goes over to writing at once.
 * @param tag  of the write
 */
export function transactionsBefore({ begunMs }: RowTag): NonNullable<RowWrite['alsoOver']> {
  return { from: tagOfNothing, to: runTag(begunMs) };
}

/** When the run began that gave a tag, ms; 0: an older version of Sluice gave it; `undefined`: nobody of us did. */
export function begunMsOfTag(tag: string): number | undefined {
  if (/^[0-9]/.test(tag)) return 0;
  const digits = tag.startsWith(letter) ? tag.slice(2, 2 + Number.parseInt(tag[1] ?? '', 36)) : undefined;
  const ms = digits === undefined ? Number.parseInt(runOfTag(tag).slice(tagOfNothing.length), 10) : Number.parseInt(digits, 36);
  return (digits !== undefined || tag.startsWith(tagOfNothing)) && Number.isSafeInteger(ms) ? ms : undefined;
}

/** What a row says that refused a write. */
export type Refusal =
  /** Another process of the run has written it later. */
  { readonly kind: 'written-later' } | { readonly kind: 'taken-over'; readonly begunMs: number } | { readonly kind: 'foreign' };

/** @param held  tag of the row; `undefined`: it has none that is a text */
export function decideRefusal(held: string | undefined, { begunMs }: RowTag): Refusal {
  const theirs = held === undefined ? undefined : begunMsOfTag(held);
  if (theirs === undefined) return { kind: 'foreign' };
  if (theirs > begunMs) return { kind: 'taken-over', begunMs: theirs };
  return held?.startsWith(letter) === true && theirs === begunMs ? { kind: 'written-later' } : { kind: 'foreign' };
}

export interface RefusedRow {
  /** uid of the sink */
  readonly uid: string;
  readonly key: RowFields;
  readonly held: string | undefined;
}

/** @throws SluiceError `OUTPUT_TAKEN_OVER`, `OUTPUT_CONFLICT` */
export function checkRefused({ uid, key, held }: RefusedRow, tag: RowTag): void {
  const refusal = decideRefusal(held, tag);
  if (refusal.kind === 'written-later') return;
  const row = `${uid} cannot write row ${keyShown(key)}`;
  if (refusal.kind === 'foreign') {
    throw new SluiceError('OUTPUT_CONFLICT', {
      message: `${row}: its attribute sluice_tag is ${held ?? 'no text'}, which no run of a job gave, so nobody can tell which write is the later one`,
      next: 'fix-the-command',
      advice: 'give the sink rows of its own, or remove that attribute from the rows',
    });
  }
  throw new SluiceError('OUTPUT_TAKEN_OVER', {
    message: `${row}: a run that began at ${timeText(refusal.begunMs)} has written it, and this one began before, at ${timeText(tag.begunMs)}`,
    next: 'fix-the-command',
    advice:
      'stop one of the two, or give it rows of its own; when this is the one to go on, restore it to its newest checkpoint, which makes it the later one',
  });
}

function timeText(ms: number): string {
  return new Date(ms).toISOString();
}
