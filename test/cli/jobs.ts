// Jobs that the tests of the command line run, as the text of their modules.

const defining = (imports: string, name: string, body: string): string => `
import { defineJob, ${imports} } from 'sluice';
export default defineJob('${name}', (env, params) => {
${body}
});
`;

/** Counts records per key of an NDJSON file, keeps checkpoints, prints the counts. */
export const countJob: string = defining(
  'count, files, ndjson, print, valueState',
  'counts',
  `
  env.enableCheckpointing(params.duration('every', '50 ms'), { externalizedCleanup: 'RETAIN_ON_CANCELLATION', numRetained: 3 });
  env.fromSource(files({ path: params.required('input'), format: ndjson() }), { uid: 'in' })
    .keyBy((row) => row.k)
    .process({
      state: { n: valueState({ default: () => 0 }) },
      processElement(row, ctx, out) {
        ctx.accumulator('rows', count()).add(row);
        ctx.state.n.update(ctx.state.n.value() + 1);
        out.collect({ k: row.k, n: ctx.state.n.value() });
      },
    })
    .uid('count')
    .sinkTo(print(), { uid: 'out' });`,
);

export const countInput: string = ['a', 'b', 'a', 'a'].map((k) => `${JSON.stringify({ k })}\n`).join('');

/** Runs until it is cancelled; prints \`up\` once records flow. */
export const endlessJob: string = defining(
  'print',
  'endless',
  `
  env.enableCheckpointing('50 ms', { externalizedCleanup: params.boolean('retain', true) ? 'RETAIN_ON_CANCELLATION' : 'DELETE_ON_CANCELLATION' });
  env.generate((i) => i, { uid: 'numbers' })
    .filter((i) => i === 0)
    .map(() => 'up')
    .sinkTo(print(), { uid: 'out' });`,
);

/** Counts without end in a stateful step of the given uid. */
export function endlessCountJob(uid: string): string {
  return defining(
    'print, valueState',
    'endless-count',
    `
  env.enableCheckpointing('50 ms', { externalizedCleanup: 'RETAIN_ON_CANCELLATION' });
  env.generate((i) => i, { uid: 'numbers' })
    .keyBy((i) => i % 3)
    .process({ state: { n: valueState({ default: () => 0 }) }, processElement(i, ctx) { ctx.state.n.update(ctx.state.n.value() + 1); } })
    .uid('${uid}')
    .sinkTo(print(), { uid: 'out' });`,
  );
}

/** A job around one line of code, from \`in.ndjson\` to \`out/\`. */
export function jobAround(line: string, o: { readonly imports?: string; readonly name?: string } = {}): string {
  return defining(`csv, files, fileSink, ndjson, print, valueState${o.imports ?? ''}`, o.name ?? 'around', `  ${line}`);
}

/** Counts lines of standard input per key into files. */
export const stdinJob: string = `
import { defineJob, fileSink, lines, ndjson, stdin, valueState } from 'sluice';
export default defineJob('typed', (env) => {
  env.enableCheckpointing('50 ms', { externalizedCleanup: 'RETAIN_ON_CANCELLATION', tolerableFailures: 100 });
  env.fromSource(stdin({ format: lines() }), { uid: 'in' })
    .keyBy((line) => line)
    .process({
      state: { n: valueState({ default: () => 0 }) },
      processElement(line, ctx, out) {
        ctx.state.n.update(ctx.state.n.value() + 1);
        out.collect({ line, n: ctx.state.n.value() });
      },
    })
    .uid('count')
    .sinkTo(fileSink({ path: 'out', format: ndjson() }), { uid: 'out' });
});
`;
