// What can be wrong with a job's module, each shown as one line that names the file.
import { describe, expect, test } from 'vitest';
import { resultOf, stackTrace, workplace } from './support.ts';

const cases: readonly {
  readonly name: string;
  readonly text: string | undefined;
  readonly code: string;
  readonly exit: 1 | 2;
  readonly says: RegExp;
}[] = [
  { name: 'a missing file', text: undefined, code: 'JOB_FILE_MISSING', exit: 2, says: /there is no file job\.ts/ },
  {
    name: 'no default export',
    text: 'export const x = 1;',
    code: 'JOB_FILE_WITHOUT_JOB',
    exit: 1,
    says: /job\.ts has no default export; write `export default defineJob/,
  },
  {
    name: 'a job that is exported by name only',
    text: `import { defineJob } from 'sluice';\nexport const late = defineJob('late', () => {});`,
    code: 'JOB_FILE_WITHOUT_JOB',
    exit: 1,
    says: /write `export default late`/,
  },
  {
    name: 'a default export that is no job',
    text: 'export default { name: 1 };',
    code: 'JOB_FILE_WITHOUT_JOB',
    exit: 1,
    says: /an object as its default, which is no job/,
  },
  { name: 'a syntax error', text: 'const a = 1;\nconst b = ;\n', code: 'JOB_FILE_SYNTAX', exit: 1, says: /job\.ts:2: SyntaxError/ },
  {
    name: 'TypeScript that cannot be stripped',
    text: 'enum A { x }\nexport default A;',
    code: 'JOB_FILE_SYNTAX',
    exit: 1,
    says: /job\.ts:1: SyntaxError: TypeScript enum/,
  },
  {
    name: 'an import that does not resolve',
    text: `import './clicks';`,
    code: 'JOB_FILE_IMPORT',
    exit: 1,
    says: /clicks.*needs its ending/,
  },
  {
    name: 'a package that is not installed',
    text: `import 'no-such-package-here';`,
    code: 'JOB_FILE_IMPORT',
    exit: 1,
    says: /no-such-package-here/,
  },
  {
    name: 'a module that throws',
    text: `throw new RangeError('too far');`,
    code: 'JOB_FILE_THREW',
    exit: 1,
    says: /job\.ts threw when it was loaded: RangeError: too far/,
  },
  {
    name: 'a DynamoDbStateBackend without a table',
    text: `import { defineJob, DynamoDbStateBackend } from 'sluice';
export default defineJob('late', (env) => {
  env.setStateBackend(new DynamoDbStateBackend());
});`,
    code: 'OPTION_INVALID',
    exit: 1,
    says: /DynamoDbStateBackend: table is missing.*write new DynamoDbStateBackend\(\{ table: 'NAME' \}\)/s,
  },
];

describe.each(['run', 'plan'])('sluice %s', (command) => {
  test.each(cases)('tells $name in one line without a stack trace', async ({ text, code, exit, says }) => {
    const place = workplace(text === undefined ? {} : { 'job.ts': text });
    const plain = await place.sluice(command, 'job.ts');
    expect(plain.stderr).toMatch(says);
    expect(plain.stderr.split('\n')[0]).toContain(`sluice: ${code}: `);
    expect(plain.stderr).not.toMatch(stackTrace);
    expect([plain.code, plain.stdout]).toEqual([exit, '']);
  });
});

test('--verbose shows where an error came from', async () => {
  const place = workplace({ 'job.ts': `throw new RangeError('too far');` });
  const { stderr, code } = await place.sluice('run', 'job.ts', '--verbose');
  expect(stderr).toMatch(stackTrace);
  expect(stderr).toContain('job.ts:1');
  expect(code).toBe(1);
});

test('--json tells the same as one object, and only --verbose puts the stack into it', async () => {
  const place = workplace({ 'job.ts': 'const b = ;' });
  const ended = await place.sluice('run', 'job.ts', '--json');
  expect(resultOf(ended)).toMatchObject({ state: 'failed', error: { code: 'JOB_FILE_SYNTAX', next: 'fix-the-job' } });
  expect(resultOf(ended).error).not.toHaveProperty('stack');
  expect(ended.stderr).toBe('');
  expect(resultOf(await place.sluice('run', 'job.ts', '--json', '--verbose')).error).toHaveProperty('stack');
});
