// objects.ts answers requests to S3 in memory, as far as the runtime makes them.

import { compareTexts } from './expressions.ts';

const pageKeys = 1_000;

interface ObjectRequest {
  readonly Key?: string;
  readonly Body?: Uint8Array;
  readonly IfNoneMatch?: string;
  readonly Prefix?: string;
  readonly ContinuationToken?: string;
}

export interface ObjectAnswer {
  readonly output: Readonly<Record<string, unknown>>;
  readonly bytes: number;
  readonly error?: Error;
}

export class Objects {
  readonly #objects = new Map<string, Uint8Array>();

  execute(command: string, request: ObjectRequest): ObjectAnswer {
    const { Key: key = '' } = request;
    const held = this.#objects.get(key);
    switch (command) {
      case 'PutObject': {
        const bytes = request.Body?.length ?? 0;
        if (held !== undefined && request.IfNoneMatch === '*') return { output: {}, bytes, error: named('PreconditionFailed', 412) };
        this.#objects.set(key, Uint8Array.from(request.Body ?? []));
        return { output: {}, bytes };
      }
      case 'GetObject': {
        if (held === undefined) return { output: {}, bytes: 0, error: named('NoSuchKey', 404) };
        return { output: { Body: { transformToByteArray: async () => Uint8Array.from(held) } }, bytes: held.length };
      }
      case 'DeleteObject':
        this.#objects.delete(key);
        return { output: {}, bytes: 0 };
      case 'ListObjectsV2':
        return { output: this.#list(request), bytes: 0 };
      default:
        throw new Error(`the stand-in of the bucket does not know ${command}`);
    }
  }

  #list({ Prefix: prefix = '', ContinuationToken: after = '' }: ObjectRequest): Readonly<Record<string, unknown>> {
    const found = [...this.#objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort(compareTexts);
    const page = found.slice(0, pageKeys).map((key) => ({ Key: key }));
    return { Contents: page, ...(found.length > pageKeys ? { NextContinuationToken: page.at(-1)?.Key } : {}) };
  }
}

function named(name: string, httpStatusCode: number): Error {
  return Object.assign(new Error(name), { name, $metadata: { httpStatusCode } });
}
