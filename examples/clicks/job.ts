// examples/clicks/job.ts
import { type Collector, defineJob, dynamoDbSink, keyedProcess, sqs, valueState } from 'sluice';

interface Click {
  user: string;
  url: string;
}

interface Total {
  user: string;
  clicks: number;
}

const countClicks = keyedProcess({
  state: { clicks: valueState<number>({ default: () => 0 }) },
  processElement({ user }: Click, ctx, out: Collector<Total>) {
    const clicks = ctx.state.clicks.value() + 1;
    ctx.state.clicks.update(clicks);
    out.collect({ user, clicks });
  },
});

export default defineJob('clicks', (env) => {
  env.enableCheckpointing('1 min', { externalizedCleanup: 'RETAIN_ON_CANCELLATION' });

  env
    .fromSource(sqs<Click>('clicks', { fifo: true }), { uid: 'clicks' })
    .keyBy((click) => click.user)
    .process(countClicks)
    .uid('count')
    .sinkTo(dynamoDbSink<Total>('totals', { key: 'user', isKeyed: true }), { uid: 'totals' });
});
