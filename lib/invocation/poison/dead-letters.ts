// A record that could not be processed, kept whole in its place. Letters are keyed state of their subtask, so one is committed in the entry that
// passes the record by, and a restore takes it back with everything else.
//   L1  The id of a letter is the identity of its record: the same record makes the same letter, after a replay or in another environment.
//   L2  A redrive acts only while its letter is there, and takes it away in the entry that holds the effect. So it happens once, however often asked.

import { Buffer } from 'node:buffer';
import type { RecordBatch } from '../../core/batch.ts';
import { isSluiceError } from '../../core/errors.ts';
import { ValueReader, ValueWriter } from '../../core/value-codec.ts';
import { excerpt } from '../../operators/operator.ts';
import type { TimeDomain } from '../../state/timers.ts';
import type { StateAddress, StateWrite } from '../entry.ts';
import { readRows, writeRows } from '../rows-codec.ts';
import type { RecordName } from './attempts.ts';

/** A timer that threw each time it fired. */
export interface LetterTimer {
  readonly domain: TimeDomain;
  readonly time: number;
  /** Encoded. */
  readonly key: string;
  readonly cause: string | undefined;
}

/** Plain data. */
export interface LetterFacts {
  /** uid of the operator that threw; of a record that killed its process, of the first operator of its stage. */
  readonly operator: string;
  readonly error: { readonly code: string; readonly message: string };
  /** Channel or split, and position of the record within it; see `RecordPlace`. */
  readonly place: string;
  readonly record: string;
  /** Input of the stage that the record came by. */
  readonly input: 0 | 1;
  /** The entry before: the version of state that the record met. */
  readonly generation: number;
  readonly n: number;
  /** When it was parked, ms since the epoch. */
  readonly atMs: number;
  /** The value cannot be stored: what is kept is a text that shows it, and it cannot be redriven. */
  readonly isExcerpt: boolean;
  /** The letter is of a timer, and its record only shows it. */
  readonly timer?: LetterTimer | undefined;
}

export interface DeadLetter extends LetterFacts {
  /** The record as the stage was given it. */
  readonly batch: RecordBatch;
}

/** No uid has this character, so no state of an operator lies here. */
const lettersOperator = '#dead-letters';

/** Where the letters of a subtask lie; each has a `sub` of its own. */
export function lettersAddress(subtask: string): StateAddress {
  return { operator: lettersOperator, state: subtask, key: '', sub: '' };
}

export function letterAddress(subtask: string, id: string): StateAddress {
  return { ...lettersAddress(subtask), sub: Buffer.from(id, 'utf8').toString('latin1') };
}

/** The id of the letter that lies under a `sub`. */
export function letterIdOf(sub: string): string {
  return Buffer.from(sub, 'latin1').toString('utf8');
}

export function letterId({ place, record }: RecordName): string {
  return `${place}/${record}`;
}

export function parkingWrite(subtask: string, letter: DeadLetter): StateWrite {
  return { address: letterAddress(subtask, letterId(letter)), value: encodeLetter(letter) };
}

/** What a redrive writes besides its effect. */
export function redrivenWrite(subtask: string, id: string): StateWrite {
  return { address: letterAddress(subtask, id), value: undefined };
}

const letterFormat = 1;

export function encodeLetter(letter: DeadLetter): Uint8Array {
  try {
    return encoded(letter);
  } catch (error) {
    if (!isSluiceError(error) || (error.code !== 'VALUE_NOT_ENCODABLE' && error.code !== 'VALUE_TOO_LARGE')) throw error;
    return encoded({ ...letter, isExcerpt: true, batch: { ...letter.batch, values: [excerpt(letter.batch.values[0])] } });
  }
}

function encoded({ batch, ...facts }: DeadLetter): Uint8Array {
  const writer = new ValueWriter(256);
  writer.writeByte(letterFormat);
  writer.writeValue(facts);
  writeRows(writer, batch);
  return writer.take();
}

/** @throws SluiceError `FORMAT_NEWER`, `DATA_DAMAGED` */
export function decodeLetter(bytes: Uint8Array): DeadLetter {
  const reader = new ValueReader(bytes, 0, 'dead letter');
  reader.readFormat(letterFormat);
  const facts = reader.readValue() as LetterFacts;
  const batch = readRows(reader);
  reader.expectEnd();
  return { ...facts, batch };
}
