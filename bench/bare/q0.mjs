// q0: every bid, unchanged.
import { finishRow, hashBar, hashInt, hashText, rowStart } from '../row-hash.mjs';
import { batchSize, measure } from './measure.mjs';

measure('q0', ({ event }, events) => {
  const batch = new Array(batchSize);
  let rows = 0;
  let sum = 0;
  for (let from = 0; from < events; from += batchSize) {
    const size = Math.min(batchSize, events - from);
    for (let j = 0; j < size; j++) batch[j] = event(from + j);
    for (let j = 0; j < size; j++) {
      const e = batch[j];
      if (e.kind !== 'B') continue;
      let h = hashBar(hashInt(rowStart, e.auction));
      h = hashBar(hashInt(h, e.bidder));
      h = hashBar(hashInt(h, e.price));
      h = hashBar(hashInt(h, e.dateTime));
      sum = (sum + finishRow(hashText(h, e.extra))) | 0;
      rows++;
    }
  }
  return { rows, sum };
});
