// Two shuffles: what is counted per (split, key) is summed up again per (key, split) on another subtask. Each key's rows come in one order only.
import { type Collector, defineJob, fileSink, files, ndjson, valueState } from 'sluice';
import type { Line } from './kill-job.ts';

export interface Summed extends Line {
  readonly count: number;
  readonly sum: number;
}

export default defineJob('invocations-kill', (env, params) => {
  const spins = params.number('spins', 0);
  env.enableCheckpointing('200 ms', {
    externalizedCleanup: 'RETAIN_ON_CANCELLATION',
    tolerableFailures: 1_000,
    numRetained: 2,
    timeout: '20 s',
  });
  env
    .fromSource(files<Line>({ path: params.required('input'), format: ndjson<Line>() }), { uid: 'lines' })
    .keyBy((r): [string, string] => [r.s, r.k])
    .process({
      state: { count: valueState<number>({ default: () => 0 }) },
      processElement(r, ctx, out: Collector<Line & { readonly count: number }>) {
        const count = ctx.state.count.value() + 1 + burnt(spins);
        ctx.state.count.update(count);
        out.collect({ ...r, count });
      },
    })
    .uid('count')
    .keyBy((r): [string, string] => [r.k, r.s])
    .process({
      state: { sum: valueState<number>({ default: () => 0 }) },
      processElement(r, ctx, out: Collector<Summed>) {
        const sum = ctx.state.sum.value() + r.n;
        ctx.state.sum.update(sum);
        out.collect({ ...r, sum });
      },
    })
    .uid('sum')
    .sinkTo(fileSink({ path: params.required('output'), format: ndjson() }), { uid: 'out' });
});

/** Takes time, and gives 0 in a way that no compiler sees. */
function burnt(spins: number): number {
  let x = 1;
  for (let i = 0; i < spins; i++) x = (Math.imul(x, 31) + i) | 1;
  return x === 0 ? 1 : 0;
}
