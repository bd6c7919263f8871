import { count, defineJob } from 'sluice';
import { queue, sinkTo } from './connectors.ts';

interface Order {
  readonly shop: string;
}

export default defineJob('orders', (env, params) => {
  const order = params.get('order', 'fifo') === 'fifo' ? 'fifo' : 'standard';
  env
    .fromSource(queue<Order>('orders', order), { uid: 'orders' })
    .keyBy((o) => o.shop)
    .aggregate(count())
    .uid('count')
    .sinkTo(sinkTo('totals', ['dynamodb', 's3', 'sqs', 'kinesis']), { uid: 'totals' });
});
