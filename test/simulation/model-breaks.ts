// The protocol was first argued out in four small models: of one subtask (P), of the exchange (E), of owners that change (R) and of records that fail
// (X). Each can break one rule of its own by name, and then has to fail. The product is held to the same list: each break has a mutation of the same
// name that takes the rule out of the product, or is named below with what stands for it.

export type Model = 'P' | 'E' | 'R' | 'X';

/** What each break does to its model. */
export const modelBreaks: Readonly<Record<Model, Readonly<Record<string, string>>>> = {
  P: {
    condition: 'materialises without comparing the tags of versions',
    versions: 'keeps only the newest version of a key',
    advance: 'moves flushedThrough after a flush that stored a part',
    seal: 'restores without sealing the old changelog',
    open: 'forgets barriers that left the ring unresolved',
    torn: 'takes one pass over the ring for a snapshot',
    told: 'replays from where the caller said, not from the own position',
    order: 'reads the job item before the ring only',
  },
  E: {
    generation: 'names channels without their generation',
    repeats: 'does not drop repeats',
    newer: 'drops a newer generation, too, when the receiver is stale',
    gap: 'accepts a gap in a channel',
    align: 'does not let records wait behind a barrier',
    mix: 'aligns barriers of different numbers',
    abort: 'drops what waited when an alignment is given up',
    untold: 'tells nobody of an abort',
    tail: 'recovers without delivering the tail',
    late: 'delivers an entry after the next one was appended',
    early: 'forwards a barrier before the tail is out',
    stamp: 'appends again, with old numbers, behind a barrier',
    ack: 'acknowledges before the append',
    seal: 'restores without sealing',
    open: 'leaves open checkpoints open over a restore',
    numbers: 'uses numbers of checkpoints again after a restore',
    held: 'restores the records that waited',
    positions: 'restores the numbers of channels',
    stale: 'restores what is no longer the newest completed',
    forget: 'restores without committing what it restores',
    discard: 'leaves undone transactions prepared',
    replay: 'takes a replay for done when the log shows its position',
    name: 'names transactions without their generation',
    premature: 'commits at the barrier entry',
    pending: 'leaves rows of aborted checkpoints out of the metadata',
    confirm: 'forgets a transaction when its checkpoint completed',
    again: 'lets a target forget a transaction at its commit',
    tag: 'does not compare tags of upserts',
    entry: 'compares upserts by entry number only',
    idle: 'refuses, or finds nothing to do, by a cache that was not compared',
    finished: 'waits for a channel that has ended',
    end: 'lets an ended source acknowledge its end for everything',
    patience: 'does not let time-outs grow with aborts',
  },
  R: {
    numbers: 'begins a child’s numbers at 0',
    base: 'lets a child’s ring take an empty slot below R only',
    end: 'seals parents before they were read to the end',
    early: 'lets a child start by its first delivery',
    flush: 'materialises parents in part before the change',
    fence: 'changes owners without sealing the parents',
    epoch: 'begins a child in the epoch of its parents',
    begin: 'begins a checkpoint while owners change',
    position: 'begins a child at the position of its parent',
    closed: 'lets a finished parent acknowledge without an entry',
    open: 'knows open barriers from the own ring only',
    newer: 'keeps all versions above the newest restore point',
    owner: 'admits by a ring that exists',
    until: 'forgets how far subtasks had got that the checkpoint does not know',
    stay: 'keeps the newest owners of a stream over a restore',
    cancel: 'leaves a change pending over a restore',
    unchecked: 'creates a ring without a check of the job item',
    listed: 'creates rings that are not listed',
    ring: 'deletes a ring that a checkpoint refers to',
    grave: 'deletes a ring at once that nobody needs',
    tombstone: 'removes a tombstone at once',
  },
  X: {
    fence: 'appends without a condition',
    answer: 'acknowledges the whole batch when a part is committed',
    position: 'keeps one position for a lane, not one for each group',
    attempts: 'counts attempts in memory',
    outside: 'keeps dead letters outside the lane’s state',
    redrive: 'redrives without looking whether the letter is there',
    lane: 'keeps one marker for a lane, not one for each group',
    cold: 'writes the marker in a cold recovery only',
    together: 'marks all groups before the first one runs',
    first: 'does not say in the marker which record it stood for',
    old: 'counts the marker of an older generation',
    thrown: 'counts a committed attempt as a death',
    contention: 'counts an append lost to another writer as a death',
    survived: 'leaves the mark of who gives up alive',
    halving: 'tries a killed batch again at full size',
    horizon: 'forgets a position a fixed time after it was written',
    margin: 'forgets a position when the queue may forget, though somebody still runs',
  },
};

/** What stands for a break that has no mutation of its name. */
export const standIns: Readonly<Record<string, { readonly mutation?: string; readonly why: string }>> = {
  'E seal': { mutation: 'P seal', why: 'one restore seals the rings of both models' },
  'P told': { why: 'a replay names no position in the product: it is asked of a subtask, and there is nothing that could be believed' },
};

export interface ListedBreak {
  /** `P condition`. */
  readonly name: string;
  readonly does: string;
}

export const listedBreaks: readonly ListedBreak[] = Object.entries(modelBreaks).flatMap(([model, breaks]) =>
  Object.entries(breaks).map(([name, does]) => ({ name: `${model} ${name}`, does })),
);
