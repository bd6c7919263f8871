// q0: every bid, unchanged.
import { defineJob } from '../../lib/index.ts';
import { type AuctionEvent, type Bid, generator } from '../generator.mjs';
import { hashBid } from './hash-bid.ts';
import { hashSink } from './hash-sink.ts';

export default defineJob('q0', (env, params) => {
  const { event } = generator(params.number('seed', 42));
  env.enableCheckpointing('1 s');

  env
    .generate<AuctionEvent>(event, { uid: 'events', count: params.number('events') })
    .filter((e): e is Bid => e.kind === 'B')
    .sinkTo(hashSink(hashBid), { uid: 'rows' });
});
