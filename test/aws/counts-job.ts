// Counts per key in state of three kinds, with its state in the table that `--table` names.
import { type Collector, DynamoDbStateBackend, defineJob, fileSink, listState, mapState, ndjson, valueState } from 'sluice';

export interface Counted {
  readonly key: string;
  readonly sum: number;
  readonly kinds: readonly (readonly [kind: string, n: number])[];
  readonly hundreds: readonly number[];
}

export const keys = 20;

export default defineJob('table-counts', (env, params) => {
  const count = params.number('count', 100_000);
  const perKey = count / keys;
  const spins = params.number('spins', 0);
  env.setStateBackend(new DynamoDbStateBackend({ table: params.required('table') }));
  env.enableCheckpointing('200 ms', { externalizedCleanup: 'RETAIN_ON_CANCELLATION', tolerableFailures: 100 });
  env
    .generate((i) => ({ key: `k${i % keys}`, n: Math.floor(i / keys) + 1 }), { uid: 'numbers', count })
    .keyBy(({ key }) => key)
    .process({
      state: {
        sum: valueState<number>({ default: () => 0 }),
        kinds: mapState<string, number>(),
        hundreds: listState<number>(),
      },
      processElement({ key, n }, ctx, out: Collector<Counted>) {
        for (let i = 0, x = 0; i < spins; i++) x += Math.sqrt(i + x);
        const { sum, kinds, hundreds } = ctx.state;
        sum.update(sum.value() + n);
        const kind = `kind-${n % 5}`;
        kinds.put(kind, (kinds.get(kind) ?? 0) + 1);
        if (n % 100 === 0) hundreds.add(n);
        if (n === perKey) out.collect({ key, sum: sum.value(), kinds: [...kinds.entries()], hundreds: [...hundreds.get()] });
      },
    })
    .uid('count')
    .sinkTo(fileSink<Counted>({ path: params.required('output'), format: ndjson() }), { uid: 'out' });
});
