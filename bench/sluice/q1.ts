// q1: every bid with its price in another currency, as a new object.
import { defineJob } from '../../lib/index.ts';
import { type AuctionEvent, type Bid, generator } from '../generator.mjs';
import { hashBid } from './hash-bid.ts';
import { hashSink } from './hash-sink.ts';

export default defineJob('q1', (env, params) => {
  const { event } = generator(params.number('seed', 42));
  env.enableCheckpointing('1 s');

  env
    .generate<AuctionEvent>(event, { uid: 'events', count: params.number('events') })
    .filter((e): e is Bid => e.kind === 'B')
    .map(inOtherCurrency)
    .sinkTo(hashSink(hashBid), { uid: 'rows' });
});

function inOtherCurrency({ kind, auction, bidder, price, channel, url, dateTime, extra }: Bid): Bid {
  return { kind, auction, bidder, price: Math.floor((price * 908) / 1000), channel, url, dateTime, extra };
}
