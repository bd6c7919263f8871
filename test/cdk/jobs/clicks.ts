import { count, defineJob } from 'sluice';
import { type Click, sinkTo, stream } from './connectors.ts';

export default defineJob('clicks', (env, params) => {
  env.enableCheckpointing('1 min');
  const from = params.get('from', '');
  env
    .fromSource(stream<Click>('clicks'), { uid: 'clicks' })
    .filter((c) => c.url.startsWith(from))
    .keyBy((c) => c.user)
    .aggregate(count())
    .uid('count')
    .setParallelism(2)
    .sinkTo(sinkTo('totals'), { uid: 'totals' });
});
