import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { plainKeys } from '../../../lib/aws/plain-keys.ts';

const esbuild = createRequire(import.meta.url)('esbuild') as typeof import('esbuild');

const schemas = [
  '// node_modules/@aws-sdk/client-s3/dist-es/schemas/schemas_0.js',
  'var _h = "http";',
  'var _x = other();',
  'var Put$ = [9, _h, { [_h]: ["PUT", 200] }, () => Unused$];',
  'var Odd$ = [9, { [_x]: 1 }];',
];

it('writes a key of a schema out where its text is known', () => {
  expect(plainKeys(schemas.join('\n')).split('\n').slice(3)).toEqual([
    'var Put$ = [9, _h, { "http": ["PUT", 200] }, () => Unused$];',
    'var Odd$ = [9, { [_x]: 1 }];',
  ]);
});

it('leaves everything alone that is no schema of a client', () => {
  const text = [
    'var _h = "http";',
    '// lib/core/errors.ts',
    'var a = { [_h]: 1 };',
    schemas[0],
    '// lib/index.ts',
    'var b = { [_h]: 1 };',
  ].join('\n');
  expect(plainKeys(text)).toBe(text);
});

it('lets a bundler leave out the schemas of requests that nobody makes', () => {
  const client = `
    import { PutObjectCommand } from '@aws-sdk/client-s3';
    export { PutObjectCommand };`;
  const built = (text: string): string =>
    esbuild.buildSync({
      stdin: { contents: text, resolveDir: import.meta.dirname },
      bundle: true,
      format: 'esm',
      platform: 'node',
      mainFields: ['module', 'main'],
      write: false,
    }).outputFiles[0]?.text ?? '';
  const whole = built(client);
  expect(whole).toContain('?publicAccessBlock');
  const lean = built(plainKeys(whole));
  expect(lean).not.toContain('?publicAccessBlock');
  expect(lean).toContain('x-id=PutObject');
});
