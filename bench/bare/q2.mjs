// q2: auction and price of the bids on every 123rd auction.
import { finishRow, hashBar, hashInt, rowStart } from '../row-hash.mjs';
import { batchSize, measure } from './measure.mjs';

measure('q2', ({ event }, events) => {
  const batch = new Array(batchSize);
  let rows = 0;
  let sum = 0;
  for (let from = 0; from < events; from += batchSize) {
    const size = Math.min(batchSize, events - from);
    for (let j = 0; j < size; j++) batch[j] = event(from + j);
    for (let j = 0; j < size; j++) {
      const e = batch[j];
      if (e.kind !== 'B' || e.auction % 123 !== 0) continue;
      const h = hashInt(hashBar(hashInt(rowStart, e.auction)), e.price);
      sum = (sum + finishRow(h)) | 0;
      rows++;
    }
  }
  return { rows, sum };
});
