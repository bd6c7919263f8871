import type { Source } from '../../api/source.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Format } from '../formats/format.ts';
import { files } from '../sources/files.ts';

/**
 * The records of a service from a file. One file is one split, in order, which is what `partitionedBy` asks for; of several nobody knows which key
 * is where.
 *
 * @throws SluiceError while the job starts: `BIND_UNFIT` for a directory or pattern with several files, and those of `files`
 */
export function boundFile<T>(name: string, path: string, format: Format<T>): Source<T> {
  const source = files({ path, format });
  return {
    ...source,
    async enumerate(ctx) {
      const splits = await source.enumerate(ctx);
      if (splits.length <= 1) return splits;
      throw new SluiceError('BIND_UNFIT', {
        message: `'${name}' is bound to '${path}', where ${splits.length} files lie, and it reads one`,
        next: 'fix-the-command',
        advice: `give one file: --bind ${name}=FILE`,
        binding: name,
      });
    },
  };
}
