// q1: every bid with its price in another currency, as a new object.
import { finishRow, hashBar, hashInt, hashText, rowStart } from '../row-hash.mjs';
import { batchSize, measure } from './measure.mjs';

measure('q1', ({ event }, events) => {
  const batch = new Array(batchSize);
  let rows = 0;
  let sum = 0;
  for (let from = 0; from < events; from += batchSize) {
    const size = Math.min(batchSize, events - from);
    for (let j = 0; j < size; j++) batch[j] = event(from + j);
    for (let j = 0; j < size; j++) {
      const e = batch[j];
      if (e.kind !== 'B') continue;
      const row = inOtherCurrency(e);
      let h = hashBar(hashInt(rowStart, row.auction));
      h = hashBar(hashInt(h, row.bidder));
      h = hashBar(hashInt(h, row.price));
      h = hashBar(hashInt(h, row.dateTime));
      sum = (sum + finishRow(hashText(h, row.extra))) | 0;
      rows++;
    }
  }
  return { rows, sum };
});

function inOtherCurrency({ kind, auction, bidder, price, channel, url, dateTime, extra }) {
  return { kind, auction, bidder, price: Math.floor((price * 908) / 1000), channel, url, dateTime, extra };
}
