// A keyed job that takes a while: it counts per (split, key), burns time for each record, and writes a row for each.
import { type Collector, defineJob, fileSink, files, ndjson, valueState } from 'sluice';

export interface Line {
  readonly s: string;
  readonly k: string;
  readonly n: number;
}

export interface Counted extends Line {
  readonly count: number;
  readonly sum: number;
}

export default defineJob('kill', (env, params) => {
  const spins = params.number('spins', 20_000);
  env.enableCheckpointing('50 ms', { externalizedCleanup: 'RETAIN_ON_CANCELLATION', tolerableFailures: 3, numRetained: 2 });
  env
    .fromSource(files<Line>({ path: params.required('input'), format: ndjson<Line>() }), { uid: 'lines' })
    .keyBy((r): [string, string] => [r.s, r.k])
    .process({
      state: { total: valueState<{ count: number; sum: number }>({ default: () => ({ count: 0, sum: 0 }) }) },
      processElement(r, ctx, out: Collector<Counted>) {
        const before = ctx.state.total.value();
        const total = { count: before.count + 1, sum: before.sum + r.n + burnt(spins) };
        ctx.state.total.update(total);
        out.collect({ ...r, ...total });
      },
    })
    .uid('count')
    .sinkTo(fileSink({ path: params.required('output'), format: ndjson() }), { uid: 'out' });
});

/** Takes time, and gives 0 in a way that no compiler sees. */
function burnt(spins: number): number {
  let x = 1;
  for (let i = 0; i < spins; i++) x = (Math.imul(x, 31) + i) | 1;
  return x === 0 ? 1 : 0;
}
