// Where the messages for a stage wait, as functions and commands are told: of one job all in queues, or all in streams.

/** A stream, and how many subtasks its messages are dealt out to. */
export interface StreamPlace {
  /** ARN. */
  readonly stream: string;
  readonly targets: number;
}

/** The URL of a FIFO queue, or a stream. */
export type ExchangePlace = string | StreamPlace;

/** Stage (its index in the plan) → place. */
export type ExchangePlaces = Readonly<Record<string, ExchangePlace>>;

export type ExchangeKind = 'sqs' | 'kinesis';

/** @returns `undefined`: no stage sends to another */
export function exchangeKindOf(places: ExchangePlaces): ExchangeKind | undefined {
  const [one] = Object.values(places);
  if (one === undefined) return undefined;
  return typeof one === 'string' ? 'sqs' : 'kinesis';
}

export function queuesIn(places: ExchangePlaces): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(places).flatMap(([stage, place]) => (typeof place === 'string' ? [[stage, place]] : [])));
}

export function streamsIn(places: ExchangePlaces): Readonly<Record<string, StreamPlace>> {
  return Object.fromEntries(Object.entries(places).flatMap(([stage, place]) => (typeof place === 'string' ? [] : [[stage, place]])));
}
