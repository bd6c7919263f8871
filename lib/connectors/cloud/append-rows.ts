// append-rows.ts sends rows to a target that takes several in one request, and may take some of them and not others.
//   A1  A request holds one row of a key at most: a later one could else be taken when an earlier one was not, and targets promise no order within a
//       request.
//   A2  Rows that were not taken are sent again before later ones of their keys. As long as a request gets something across, the next follows at
//       once; one that gets nothing across is an error, and whoever asked calls again a little later.
//   A3  What was taken is remembered between the calls for the same rows.

import { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import type { AppendedRow, NotTaken } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import { formatBytes } from '../../core/limits.ts';

export interface AppendLimits {
  readonly rowsMax: number;
  /** Of one request, with the keys. */
  readonly bytesMax: number;
  /** Of one row, with its key. */
  readonly rowBytesMax: number;
}

/** Pure: the rows of the next request, by their place. @param waiting  in order */
export function nextRequest(
  rows: readonly AppendedRow[],
  waiting: readonly number[],
  { rowsMax, bytesMax }: AppendLimits,
): readonly number[] {
  const keys = new Set<string>();
  const taken: number[] = [];
  let bytes = 0;
  for (const i of waiting) {
    const row = rows[i]!;
    if (keys.has(row.key)) continue;
    keys.add(row.key); // also where it has no room: a later row of the key must not go first
    const size = bytesOf(row);
    if (bytes + size > bytesMax && taken.length > 0) continue;
    taken.push(i);
    bytes += size;
    if (taken.length === rowsMax) break;
  }
  return taken;
}

function bytesOf({ key, body }: AppendedRow): number {
  return Buffer.byteLength(key) + Buffer.byteLength(body);
}

/** The identity of a row in the letters that targets take: the same each time. */
export function rowId(job: string, id: string): string {
  return createHash('sha256')
    .update(JSON.stringify([job, id]))
    .digest('hex');
}

/** @param name  for messages, such as `sqsSink('orders')` @throws SluiceError `RECORD_TOO_LARGE` */
export function checkAppended(name: string, row: AppendedRow, { rowBytesMax }: Pick<AppendLimits, 'rowBytesMax'>): void {
  const bytes = bytesOf(row);
  if (bytes <= rowBytesMax) return;
  throw new SluiceError('RECORD_TOO_LARGE', {
    message: `${name}: a row of ${formatBytes(bytes)} with its key is over the limit of one message, ${formatBytes(rowBytesMax)}`,
    next: 'fix-the-job',
    advice: 'write large values to s3Sink, and their names here',
    limit: rowBytesMax,
  });
}

/** What XML 1.0 leaves out, which is what a message of SQS may not hold (SQS API reference, SendMessage). */
const notInMessages = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u;

/** @throws SluiceError `VALUE_NOT_ENCODABLE` of a text that SQS takes from nobody */
export function checkMessageText(name: string, text: string): void {
  const [letter] = notInMessages.exec(text) ?? [];
  if (letter === undefined && text !== '') return;
  const why =
    letter === undefined ? 'is empty' : `has the character U+${letter.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`;
  throw new SluiceError('VALUE_NOT_ENCODABLE', {
    message: `${name}: the text of a message ${why}, which SQS refuses`,
    next: 'fix-the-job',
    advice: 'leave such rows or characters out, or give a format that spells them otherwise',
  });
}

export class RowAppender {
  readonly #limits: AppendLimits;
  readonly #send: (rows: readonly AppendedRow[]) => Promise<readonly NotTaken[]>;
  /** For messages, such as `sqsSink('orders')`. */
  readonly #name: string;
  readonly #taken = new WeakMap<object, Set<number>>();

  constructor(name: string, limits: AppendLimits, send: (rows: readonly AppendedRow[]) => Promise<readonly NotTaken[]>) {
    this.#name = name;
    this.#limits = limits;
    this.#send = send;
  }

  /**
   * @param call  the same object when the same rows are sent again
   * @throws SluiceError `RECORD_TOO_LARGE`, `SINK_NOT_WRITTEN` for rows that were not taken, and those of the target
   */
  async append(call: object, rows: readonly AppendedRow[]): Promise<void> {
    for (const row of rows) checkAppended(this.#name, row, this.#limits);
    const taken = this.#taken.get(call) ?? new Set<number>();
    this.#taken.set(call, taken);
    for (;;) {
      const waiting = rows.flatMap((_, i) => (taken.has(i) ? [] : [i]));
      if (waiting.length === 0) return;
      const request = nextRequest(rows, waiting, this.#limits);
      const left = await this.#send(request.map((i) => rows[i]!));
      const notTaken = new Set(left.map(({ at }) => at));
      for (const [at, i] of request.entries()) if (!notTaken.has(at)) taken.add(i);
      const final = left.find(({ isFinal }) => isFinal);
      if (final !== undefined || notTaken.size === request.length)
        throw this.#notTaken(final ?? left[0]!, waiting.length - request.length + left.length);
    }
  }

  #notTaken({ reason, isFinal }: NotTaken, count: number): SluiceError {
    return new SluiceError('SINK_NOT_WRITTEN', {
      message: `${this.#name}: ${count} rows were not taken: ${reason}`,
      next: isFinal ? 'fix-the-job' : 'recover-subtask',
    });
  }
}
