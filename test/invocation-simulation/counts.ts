// What happened, counted over all seeds. A fault or a rare situation that never comes proves nothing, so a long range of seeds asserts that each
// line of this list came.

import { errorKinds } from './service-errors.ts';
import { Tally } from './tally.ts';

/** Places where somebody waits, see `ambush.ts`. */
const ambushes = [
  'waits before it completes a checkpoint',
  'waits in a change of owners',
  'waits between job item and ring',
  'waits before it flushes',
  'waits before it prepares',
  'waits before it appends',
] as const;

export type AmbushName = (typeof ambushes)[number];

export const happenings = [
  // Faults of one call
  'throttled', // nothing happened, and the caller is told so
  'reply lost', // it happened, and the caller is told that it failed
  'late effect', // the caller is told that it failed, and it happens later
  'slow call',
  'left over', // a batch did a part of its work
  ...errorKinds, // what the clients throw, through the adapters' table
  'outage', // a service is throttled for longer than anybody waits
  // Faults of a process
  'crash',
  'crash after effect', // dies when an effect has happened and before it hears of it
  'effect after death', // what a dead environment had asked for happens later
  'frozen',
  'effect while frozen',
  'thawed in time', // goes on before anybody gave it up
  'thawed as zombie', // goes on when others have done its work
  'thawed by a later invocation', // two invocations are under way in one environment
  'timed out',
  'clock jump',
  ...ambushes, // somebody missed what it waited for
  // Deliveries
  'cold start',
  'another environment', // a subtask's next unit runs elsewhere
  'overlapping event',
  'redelivered event',
  'part of an event acknowledged',
  'event refused',
  'event of several subtasks',
  'event of a shard without an owner',
  'message redelivered',
  'late duplicate',
  'group not blocked', // messages in flight kept nothing back
  'sent again after the queue forgot',
  'old receipt worked',
  // The coordinator
  'coordinator crash',
  'coordinator frozen',
  'pulses at once',
  'no pulse for long',
  'checkpoint begun',
  'checkpoint completed',
  'checkpoint aborted',
  'barrier lost',
  'restore asked for',
  'restore of an older checkpoint asked for',
  'restored',
  'pause asked for',
  'resumed',
  'a day passes',
  // Owners
  'shard split',
  'shards merged',
  'acknowledged by a seal',
  'completed after its owners had changed',
  'restored to before a change of owners',
  'restored to behind a change of owners',
  'restore during a change of owners',
  // What units and entries come to
  'append lost',
  'ring wrapped',
  'entry overflowed',
  'message overflowed',
  'held message spilled',
  'records waited behind a barrier',
  'alignment given up',
  'transaction discarded',
  'prepare refused',
  'row refused as older',
  'user code throws',
  'a record kills',
  'thrower parked',
  'killer parked',
  'parked by bad luck',
  // Twists
  'record redriven',
  'source fell idle',
  'a timer throws',
  'timer redriven',
  'a restore was cancelled',
] as const;

export type Happening = (typeof happenings)[number];

/** Comes when one record is in hand at three deaths in a row, which a range of seeds need not bring. */
const mayStayAway: readonly Happening[] = ['parked by bad luck'];

export class Counts extends Tally<Happening> {
  constructor() {
    super(happenings, mayStayAway);
  }
}
