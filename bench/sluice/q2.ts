// q2: auction and price of the bids on every 123rd auction.
import { defineJob } from '../../lib/index.ts';
import { type AuctionEvent, type Bid, generator } from '../generator.mjs';
import { finishRow, hashBar, hashInt, rowStart } from '../row-hash.mjs';
import { hashSink } from './hash-sink.ts';

interface Row {
  readonly auction: number;
  readonly price: number;
}

export default defineJob('q2', (env, params) => {
  const { event } = generator(params.number('seed', 42));
  env.enableCheckpointing('1 s');

  env
    .generate<AuctionEvent>(event, { uid: 'events', count: params.number('events') })
    .filter((e): e is Bid => e.kind === 'B' && e.auction % 123 === 0)
    .map(({ auction, price }): Row => ({ auction, price }))
    .sinkTo(hashSink(hashRow), { uid: 'rows' });
});

function hashRow({ auction, price }: Row): number {
  return finishRow(hashInt(hashBar(hashInt(rowStart, auction)), price));
}
