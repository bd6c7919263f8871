import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { leanClients } from '../../../lib/aws/lean-clients.ts';

const esbuild = createRequire(import.meta.url)('esbuild') as typeof import('esbuild');

const schemas = [
  '// node_modules/@aws-sdk/client-s3/dist-es/schemas/schemas_0.js',
  'var _h = "http";',
  'var _x = other();',
  'var Put$ = [9, _h, { [_h]: ["PUT", 200] }, () => Unused$];',
  'var Odd$ = [9, { [_x]: 1 }];',
];

it('writes a key of a schema out where its text is known', () => {
  expect(leanClients(schemas.join('\n')).split('\n').slice(3)).toEqual([
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
  expect(leanClients(text)).toBe(text);
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
  const lean = built(leanClients(whole));
  expect(lean).not.toContain('?publicAccessBlock');
  expect(lean).toContain('x-id=PutObject');
});

it('says of an exception once what it is', async () => {
  const contents = "export { DynamoDBServiceException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';";
  const whole = esbuild.buildSync({
    stdin: { contents, resolveDir: import.meta.dirname },
    bundle: true,
    format: 'esm',
    platform: 'node',
    mainFields: ['module', 'main'],
    write: false,
  }).outputFiles[0]!.text;
  const lean = leanClients(whole);
  expect(whole).toMatch(/\n +name = "TransactionCanceledException";\n +\$fault = "client";/);
  expect(lean).not.toMatch(/\n +name = "TransactionCanceledException";/);
  const place = join(mkdtempSync(join(tmpdir(), 'sluice-lean-')), 'client.mjs');
  writeFileSync(
    place,
    `import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path'; const require = createRequire(import.meta.url);\n${lean}`,
  );
  const made = (await import(place)) as typeof import('@aws-sdk/client-dynamodb');
  const reasons = [{ Code: 'None' }];
  const error = new made.TransactionCanceledException({ message: 'no', $metadata: {}, CancellationReasons: reasons });
  expect(error).toMatchObject({ name: 'TransactionCanceledException', $fault: 'client', message: 'no', CancellationReasons: reasons });
  for (const one of [made.TransactionCanceledException, made.DynamoDBServiceException])
    expect(Object.prototype.isPrototypeOf.call(one.prototype, error)).toBe(true);
  expect(Object.getPrototypeOf(error)).toBe(made.TransactionCanceledException.prototype);
  expect(Object.getPrototypeOf(new made.DynamoDBServiceException({ name: 'x', $fault: 'client', $metadata: {} }))).toBe(
    made.DynamoDBServiceException.prototype,
  );
  rmSync(dirname(place), { recursive: true });
});

it('keeps of the package of a client its version', () => {
  const origin = '// node_modules/@aws-sdk/client-s3/package.json';
  const told = ['var a = {', '  name: "@aws-sdk/client-s3",', '  version: "3.1",', '  author: {', '    version: "no"', '  }', '};', ''];
  const next = '// lib/index.ts';
  expect(leanClients([origin, ...told, next].join('\n')).split('\n')).toEqual([origin, 'var a = {', '  version: "3.1"', '};', '', next]);
});

it('leaves a package alone that looks otherwise', () => {
  const text = ['// node_modules/@aws-sdk/client-s3/package.json', 'var a = { version: "3.1" };', '// lib/index.ts'].join('\n');
  expect(leanClients(text)).toBe(text);
});
