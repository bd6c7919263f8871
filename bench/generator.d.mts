export interface Person {
  readonly kind: 'P';
  readonly id: number;
  readonly name: string;
  readonly email: string;
  readonly creditCard: string;
  readonly city: string;
  readonly state: string;
  readonly dateTime: number;
  readonly extra: string;
}
export interface Auction {
  readonly kind: 'A';
  readonly id: number;
  readonly itemName: string;
  readonly description: string;
  readonly initialBid: number;
  readonly reserve: number;
  readonly dateTime: number;
  readonly expires: number;
  readonly seller: number;
  readonly category: number;
  readonly extra: string;
}
export interface Bid {
  readonly kind: 'B';
  readonly auction: number;
  readonly bidder: number;
  readonly price: number;
  readonly channel: string;
  readonly url: string;
  readonly dateTime: number;
  readonly extra: string;
}
export type AuctionEvent = Person | Auction | Bid;

export const distinctWords: number;
export function mix(h: number): number;
export function generator(seed?: number): {
  readonly event: (i: number) => AuctionEvent;
  readonly word: (i: number) => string;
};
