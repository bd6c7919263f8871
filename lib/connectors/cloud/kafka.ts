import { checkName } from '../../api/names.ts';
import { checkOptions } from '../../api/option-checks.ts';
import type { Source, SourceContext } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Format } from '../formats/format.ts';
import { checkFormat } from '../formats/format-checks.ts';
import { json } from '../formats/json.ts';
import { boundFile } from './bound-file.ts';
import { readMessage } from './message-records.ts';

export interface KafkaOptions<T> {
  /** How records lie in the value of a message. Default `json()`. */
  readonly format?: Format<T>;
}

/**
 * Reads a Kafka topic: `kafka<Click>('clicks')`. The name is bound outside the job. This version reads it from a file in its place
 * (`--bind clicks=FILE`); with a real topic it is refused before the job starts.
 *
 * @throws SluiceError `OPTION_INVALID`, `OPTION_UNKNOWN`, `NAME_INVALID` at once; `FEATURE_NOT_AVAILABLE` before the job starts
 */
export function kafka<T = unknown>(name: string, o: KafkaOptions<T> = {}): Source<T> {
  checkName('the name of kafka()', name);
  checkOptions('kafka()', o, ['format']);
  const format = o.format ?? json<T>();
  checkFormat('kafka()', format);
  const refuse = ({ uid }: SourceContext): never => {
    throw new SluiceError('FEATURE_NOT_AVAILABLE', {
      message: `kafka('${name}') cannot read a topic in this version`,
      next: 'fix-the-job',
      advice: `read a file in its place, --bind ${name}=FILE`,
      operator: uid,
    });
  };
  return {
    kind: 'kafka',
    isRereadable: true,
    isBounded: false,
    isEager: true,
    binding: { name, kinds: ['kafka'] },
    fromFile: (path) => boundFile(name, path, format),
    enumerate: async (ctx) => refuse(ctx),
    open: (_split, _from, ctx) => refuse(ctx),
    readRecord: (data, out) => readMessage(format, data, { place: `a record of '${name}'`, countSkipped: () => undefined }, out),
  };
}
