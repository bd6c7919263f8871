import { describe, expect, test } from 'vitest';
import { csv } from '../../../lib/connectors/formats/csv.ts';
import { jsonArray } from '../../../lib/connectors/formats/json-array.ts';
import { lines } from '../../../lib/connectors/formats/lines.ts';
import { ndjson } from '../../../lib/connectors/formats/ndjson.ts';
import { fileSink } from '../../../lib/connectors/sinks/file-sink.ts';
import { files } from '../../../lib/connectors/sources/files.ts';
import { socket, stdin } from '../../../lib/connectors/sources/streams.ts';

type Make = (o: never) => unknown;
const formats: readonly (readonly [string, Make])[] = [
  ['ndjson', ndjson],
  ['jsonArray', jsonArray],
  ['lines', lines],
  ['csv', csv],
];

describe('an option that nobody would read is refused where it is written', () => {
  test.each([...formats, ['files', files], ['fileSink', fileSink], ['socket', socket], ['stdin', stdin]] as readonly (readonly [
    string,
    Make,
  ])[])('%s', (name, make) => {
    const rest = { path: 'x', host: 'x', port: 1, format: ndjson() };
    expect(() => make({ ...(name === 'files' ? { path: 'x', format: rest.format } : {}), fromat: 1 } as never)).toThrow(
      expect.objectContaining({ code: 'OPTION_UNKNOWN', message: expect.stringContaining(`${name}() has no option 'fromat'`) }),
    );
  });

  test.each(formats)('%s: onError and recordBytesMax have their values', (_name, make) => {
    for (const o of [{ onError: 'ignore' }, { onError: {} }, { recordBytesMax: 0 }, { recordBytesMax: '1 MiB' }]) {
      expect(() => make(o as never)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }));
    }
  });

  test('a format that is missing or was not called is told as that', () => {
    for (const make of [files, fileSink] as readonly Make[]) {
      expect(() => make({ path: 'x' } as never)).toThrow(/format is a format, such as ndjson\(\), not undefined/);
      expect(() => make({ path: 'x', format: ndjson } as never)).toThrow(/call it/);
      expect(() => make({ format: ndjson() } as never)).toThrow(/path is text, not undefined/);
      expect(() => make('x' as never)).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }));
    }
  });
});
