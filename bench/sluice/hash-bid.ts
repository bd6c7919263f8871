// The row of q0 and q1: auction, bidder, price, dateTime, extra.
import { finishRow, hashBar, hashInt, hashText, rowStart } from '../row-hash.mjs';

export interface BidRow {
  readonly auction: number;
  readonly bidder: number;
  readonly price: number;
  readonly dateTime: number;
  readonly extra: string;
}

export function hashBid(row: BidRow): number {
  let h = hashBar(hashInt(rowStart, row.auction));
  h = hashBar(hashInt(h, row.bidder));
  h = hashBar(hashInt(h, row.price));
  h = hashBar(hashInt(h, row.dateTime));
  return finishRow(hashText(h, row.extra));
}
