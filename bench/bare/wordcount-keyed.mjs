// wordcount-keyed: each word, and how often it was seen so far.
import { finishRow, hashBar, hashInt, hashText, rowStart } from '../row-hash.mjs';
import { batchSize, measure } from './measure.mjs';

measure('wordcount-keyed', ({ word }, events) => {
  const batch = new Array(batchSize);
  const counts = new Map();
  let rows = 0;
  let sum = 0;
  for (let from = 0; from < events; from += batchSize) {
    const size = Math.min(batchSize, events - from);
    for (let j = 0; j < size; j++) batch[j] = word(from + j);
    for (let j = 0; j < size; j++) {
      const w = batch[j];
      const count = (counts.get(w) ?? 0) + 1;
      counts.set(w, count);
      sum = (sum + finishRow(hashInt(hashBar(hashText(rowStart, w)), count))) | 0;
      rows++;
    }
  }
  return { rows, sum };
});
