// The clicks job with one operator more: another plan.
import { defineJob, dynamoDbSink, keyedProcess, sqs, valueState } from 'sluice';

interface Click {
  user: string;
}

const count = keyedProcess({
  state: { clicks: valueState<number>({ default: () => 0 }) },
  processElement({ user }: Click, ctx, out: { collect(row: { user: string; clicks: number }): void }) {
    ctx.state.clicks.update(ctx.state.clicks.value() + 1);
    out.collect({ user, clicks: ctx.state.clicks.value() });
  },
});

export default defineJob('clicks', (env) => {
  env.enableCheckpointing('1 min');
  env
    .fromSource(sqs<Click>('clicks', { fifo: true }), { uid: 'clicks' })
    .keyBy((click) => click.user)
    .process(count)
    .uid('count')
    .filter(({ clicks }) => clicks > 1)
    .sinkTo(dynamoDbSink<{ user: string; clicks: number }>('totals', { key: 'user', isKeyed: true }), { uid: 'totals' });
});
