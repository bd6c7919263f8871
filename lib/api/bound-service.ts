// bound-service.ts reads what stands behind a name in a run of one machine, where it is a service and no file: `dynamodb:orders`, `s3:bucket/folder`,
// `sqs:https://…`, `kinesis:clicks`. Everything else is a path.

import { SluiceError } from '../core/errors.ts';
import { nearest } from '../core/suggest.ts';

/** With the properties that `SLUICE_BIND` of a deployed job has. */
export type BoundService =
  | { readonly kind: 'dynamodb'; readonly table: string }
  | { readonly kind: 's3'; readonly bucket: string; readonly prefix: string }
  | { readonly kind: 'sqs'; readonly queue: string; readonly fifo: boolean }
  | { readonly kind: 'kinesis'; readonly stream: string };

/** How each is written. */
export const serviceForms: Readonly<Record<BoundService['kind'], string>> = {
  dynamodb: 'dynamodb:TABLE',
  s3: 's3:BUCKET/FOLDER',
  sqs: 'sqs:URL',
  kinesis: 'kinesis:STREAM',
};

/** One letter is a drive, and `file:` a path. */
const withScheme = /^([A-Za-z][A-Za-z0-9_-]+):(.+)$/s;

/**
 * @returns `undefined`: it is a path
 * @throws SluiceError `BIND_UNFIT` for a service that there is none of, and for an address that is none
 */
export function serviceBehind(name: string, target: string): BoundService | undefined {
  const [, scheme = '', rest = ''] = withScheme.exec(target) ?? [];
  if (scheme === '' || scheme === 'file') return undefined;
  switch (scheme) {
    case 'dynamodb':
      return { kind: 'dynamodb', table: rest };
    case 'kinesis':
      return { kind: 'kinesis', stream: rest };
    case 'sqs':
      if (!/^https?:\/\/[^/]+\/./.test(rest)) throw unfit(name, target, 'a queue is given by its URL', serviceForms.sqs);
      return { kind: 'sqs', queue: rest, fifo: rest.endsWith('.fifo') };
    case 's3':
      return bucketOf(name, target, rest.replace(/^\/\//, ''));
    default:
      throw unknownKind(name, target, scheme);
  }
}

function bucketOf(name: string, target: string, place: string): BoundService {
  const [bucket = '', ...folders] = place.split('/');
  const prefix = folders.filter((folder) => folder !== '').join('/');
  if (bucket === '') throw unfit(name, target, 'it has no bucket', serviceForms.s3);
  return { kind: 's3', bucket, prefix: prefix === '' ? '' : `${prefix}/` };
}

function unknownKind(name: string, target: string, scheme: string): SluiceError {
  const meant = nearest(scheme, Object.keys(serviceForms)) as BoundService['kind'] | undefined;
  const hint = meant === undefined ? `there are ${Object.values(serviceForms).join(', ')}` : `did you mean ${serviceForms[meant]}?`;
  return new SluiceError('BIND_UNFIT', {
    message: `--bind ${name}=${target}: '${scheme}' is no kind of target; ${hint}`,
    next: 'fix-the-command',
    advice: `a file or directory of that name is ./${target}`,
    binding: name,
  });
}

function unfit(name: string, target: string, why: string, form: string): SluiceError {
  return new SluiceError('BIND_UNFIT', {
    message: `--bind ${name}=${target}: ${why}; write --bind ${name}=${form}`,
    next: 'fix-the-command',
    binding: name,
  });
}
