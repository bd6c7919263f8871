// A queue as a source. What it delivers comes by events; how messages become positions, repeats and kept input is the invocation runtime's.

import { Buffer } from 'node:buffer';
import { checkOptions } from '../../api/option-checks.ts';
import type { Source } from '../../api/source.ts';
import { type Duration, parseDuration } from '../../core/duration.ts';
import { SluiceError } from '../../core/errors.ts';

import type { Format } from '../formats/format.ts';
import { checkFormat } from '../formats/format-checks.ts';
import { json } from '../formats/json.ts';
import { boundFile } from './bound-file.ts';
import { readMessage } from './message-records.ts';

export interface SqsOptions<T> {
  /** `true`: a FIFO queue, whose groups stay in order. Default false. */
  readonly fifo?: boolean;
  /** How records lie in a message's body. Default: the body is one JSON value. */
  readonly format?: Format<T>;
  /** Subtasks that messages are spread over, by group or by id. Default 2. Fixed for the life of the job. */
  readonly lanes?: number;
  /** After this the queue drops a message; it is remembered for as long. At least that of the queue. Default 4 d, as queues have it. */
  readonly retention?: Duration;
}

const lanesDefault = 2;
const lanesMax = 1_000;
const retentionDefault = '4 d';
const retentionMsMax = 14 * 24 * 60 * 60 * 1_000; // a queue keeps nothing longer

/**
 * Reads an SQS queue: `sqs<Order>('orders', { fifo: true })`. The name is bound outside the job.
 *
 * A message that is delivered again has no second effect for as long as the queue could deliver it. One that cannot be read is tried as often as a
 * record that fails, and parked then.
 *
 * @throws SluiceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `DURATION_INVALID`
 */
export function sqs<T = unknown>(name: string, o: SqsOptions<T> = {}): Source<T> {
  checkOptions('sqs()', o, ['fifo', 'format', 'lanes', 'retention']);
  const { fifo = false, format = json<T>(), lanes = lanesDefault } = o;
  checkFormat('sqs()', format);
  if (typeof fifo !== 'boolean') throw invalid('fifo is true or false', fifo);
  if (!Number.isInteger(lanes) || lanes < 1 || lanes > lanesMax) throw invalid(`lanes is a whole number from 1 to ${lanesMax}`, lanes);
  const retentionMs = parseDuration(o.retention ?? retentionDefault, { name: 'sqs(): retention' });
  if (retentionMs < 60_000 || retentionMs > retentionMsMax) throw invalid('retention is 1 min to 14 d, as of a queue', o.retention);
  return {
    kind: 'sqs',
    isRereadable: false,
    isBounded: false,
    isEager: true,
    binding: { name, kinds: ['sqs'] },
    queue: {
      order: fifo ? 'fifo' : 'standard',
      lanes,
      retentionMs,
      read: (body, out) =>
        readMessage(format, Buffer.from(String(body), 'utf8'), { place: `a message of '${name}'`, countSkipped: () => undefined }, out),
    },
    fromFile: (path) => boundFile(name, path, format),
    enumerate: () => Promise.resolve(Array.from({ length: lanes }, (_, lane) => ({ id: `lane-${lane}` }))),
    open: () => {
      throw new SluiceError('FEATURE_NOT_AVAILABLE', {
        message: `queue '${name}' only delivers, so it is read where events come from: on AWS`,
        next: 'fix-the-job',
      });
    },
  };
}

function invalid(rule: string, value: unknown): SluiceError {
  return new SluiceError('OPTION_INVALID', { message: `sqs(): ${rule}`, next: 'fix-the-job', value });
}
