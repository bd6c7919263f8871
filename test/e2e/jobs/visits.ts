// The job of the end-to-end test, over a stream, a FIFO queue or a standard queue: visits are counted for each user, in a table at once; what goes on
// from there is counted for each page and minute of event time, in objects and in rows that appear with their checkpoint.
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type Collector,
  count,
  type DataStream,
  defineJob,
  dynamoDbSink,
  type Env,
  kinesis,
  ndjson,
  s3Sink,
  sqs,
  TumblingEventTimeWindows,
  valueState,
  WatermarkStrategy,
} from 'sluice';

export interface Visit {
  readonly id: string;
  readonly user: string;
  readonly page: string;
  /** Event time, ms. */
  readonly at: number;
  /** Whoever has it first never comes back. */
  readonly hangs?: boolean;
}

interface Counted extends Visit {
  readonly visits: number;
}

export interface PageRow {
  readonly page: string;
  readonly minute: number;
  readonly visits: number;
}

const watermarks = WatermarkStrategy.forBoundedOutOfOrderness<Visit>('2 min').withTimestamps(({ at }) => at);
const hangMs = 300_000;

/** The clock of a function that does not return stops with its function. */
function hangOnce(id: string): void {
  const mark = join(tmpdir(), `hung-${id}`);
  if (existsSync(mark)) return;
  writeFileSync(mark, '');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, hangMs);
}

function visitsOf(env: Env, input: string): DataStream<Visit> {
  if (input !== 'stream') return env.fromSource(sqs<Visit>('visits', { fifo: input === 'fifo' }), { uid: 'visits', watermarks });
  return env.fromSource(kinesis<Visit>('visits'), { uid: 'visits', watermarks, partitionedBy: (visit) => visit.user });
}

export default defineJob('visits', (env, params) => {
  env.enableCheckpointing('15 s', { externalizedCleanup: 'RETAIN_ON_CANCELLATION', numRetained: 30 });
  env.setParallelism(2);
  const input = params.required('input');
  const all = visitsOf(env, input);
  const wanted = params.boolean('another-plan', false) ? all.filter(({ user }) => user !== '') : all;
  const counted = wanted
    .keyBy((visit) => visit.user)
    .process({
      state: { visits: valueState<number>({ default: () => 0 }) },
      processElement(visit, ctx, out: Collector<Counted>) {
        if (visit.hangs === true) hangOnce(`${input}-${visit.id}`);
        const visits = ctx.state.visits.value() + 1;
        ctx.state.visits.update(visits);
        out.collect({ ...visit, visits });
      },
    })
    .uid('count');
  counted
    .map(({ user, visits }) => ({ user, visits }))
    .sinkTo(dynamoDbSink<{ user: string; visits: number }>('totals', { key: 'user', isKeyed: true }), { uid: 'totals' });
  const perPage = counted
    .keyBy(({ page }) => page)
    .window(TumblingEventTimeWindows.of('1 min'))
    .aggregate(count(), (page, { start }, [visits]): PageRow => ({ page, minute: start, visits }))
    .uid('per-page');
  perPage.sinkTo(s3Sink<PageRow>('pages', { format: ndjson() }), { uid: 'pages' });
  perPage.sinkTo(dynamoDbSink<PageRow>('minutes', { key: ['page', 'minute'], mode: 'transactional' }), { uid: 'minutes' });
});
