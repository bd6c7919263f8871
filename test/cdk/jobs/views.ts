import { count, defineJob, kafka } from 'sluice';
import { type Click, sinkTo } from './connectors.ts';

export default defineJob('views', (env) => {
  env.enableCheckpointing('1 min');
  env
    .fromSource(kafka<Click>('views'), { uid: 'views' })
    .setParallelism(3)
    .keyBy((c) => c.user)
    .aggregate(count())
    .uid('count')
    .sinkTo(sinkTo('totals'), { uid: 'totals' });
});
