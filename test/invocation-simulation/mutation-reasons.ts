// Rules that no seed of this simulation can notice to be gone, and what notices instead. A rule has a seed in mutation-seeds.json, or it is here.

import type { Reasons } from '../simulation/mutation.ts';

export const reasons: Reasons = {
  'P torn': {
    caughtBy: {
      file: 'test/property/invocation/ring.test.ts',
      title: 'what is read of a ring is a log that existed, whatever is appended between its pages',
    },
    why: 'Two entries have to be appended while a reader is between the very two pages that they come into, and the state of the first of them has to matter to it.',
  },
  'P order': {
    caughtBy: {
      file: 'test/unit/invocation/unit/admit.test.ts',
      title: 'A2: what is known of checkpoints is not older than the ring: the job item is read again behind it',
    },
    why: 'A checkpoint has to begin, pass, complete and be followed by another one’s barrier between two reads of one recovery, and then the same environment has to write a key that it finds in the table as of that checkpoint before it reads the item again.',
  },
  'R epoch': {
    caughtBy: {
      file: 'test/unit/invocation/coordinator/move.test.ts',
      title: 'begins while a checkpoint is open: the seal carries its barrier, stands for it, and no other begins until the change is over',
    },
    why: 'It takes a checkpoint that was begun and that its parent has not passed, completed by the seal, and then a restore to just this one after a child has written what the parent wrote before.',
  },
  'owners: today': {
    caughtBy: {
      file: 'test/unit/invocation/coordinator/move.test.ts',
      title: 'does not begin during a restore, or when somebody else owns',
    },
    why: 'A whole restore, its mark and its raised generation, has to lie between the question where a split ends and the write behind its answer.',
  },
  'E patience': {
    caughtBy: {
      file: 'test/unit/invocation/coordinator/checkpoints.test.ts',
      title: 'time-outs double with each abort in a row',
    },
    why: 'A job has to need longer for each of its checkpoints than they are given, and not twice as long; one that is only unlucky completes the next.',
  },
  'owners: delivered': {
    caughtBy: {
      file: 'test/unit/invocation/coordinator/move.test.ts',
      title: 'has the parent say that its newest entry is delivered before it is sealed',
    },
    why: 'The last unit of a parent has to die between its append and its delivery, and the whole change of owners to come before any call of the parent that would deliver it.',
  },
  'owners: joint': {
    caughtBy: {
      file: 'test/unit/invocation/intake.test.ts',
      title: 'N4: of senders that are followed together wait for what the last of them sent, however their messages come',
    },
    why: 'The last message of one parent has to be overtaken by the first of its child on another channel, with a record of the same key in both.',
  },
  'own epoch': {
    caughtBy: { file: 'test/unit/invocation/versions.test.ts', title: 'its own epoch’s version below those' },
    why: 'A writer whose own version is neither the newest nor at a restore point is one that slept; what it would lose is what a later writer has.',
  },
  'newer entry of an epoch': {
    caughtBy: { file: 'test/unit/invocation/versions.test.ts', title: 'of one epoch the larger number, also when that is the stored one' },
    why: 'A writer has to fall asleep before the first read of its flush, and another one to write and flush the same item in the same epoch before it wakes.',
  },
  'E replay': {
    caughtBy: {
      file: 'test/unit/invocation/coordinator/restore.test.ts',
      title: 'is not over because the log shows its position: the newest entry may lie undelivered',
    },
    why: 'A tail that lies undelivered is news, so a checkpoint begins and its barrier comes by, and so do ticks: it is delivered late, and nothing is lost. Only without either would anybody wait for ever.',
  },
  'E end': {
    caughtBy: { file: 'test/unit/invocation/unit/barrier.test.ts', title: 'acknowledges by the entry of that barrier, and not by its end' },
    why: 'An entry is followed by the next one only when its barrier has been acknowledged, and the first acknowledgement counts. What is left is a barrier that was overtaken by the next one at a subtask that ends just then.',
  },
  'first prepared': {
    caughtBy: {
      file: 'test/unit/invocation/sinks/settler.test.ts',
      title: 'a target that gives each call data of its own commits one of them and is told to abort the other',
    },
    why: 'A barrier is acknowledged behind what was prepared for it, so a commit finds the record and does not ask for its own; only a settler that had to prepare itself, at the same time as another, would commit by what it asked for last.',
  },
  'failures on a proven cache': {
    caughtBy: {
      file: 'test/unit/invocation/unit/failures.test.ts',
      title: 'F4: counts nothing before the cache has been compared with the head',
    },
    why: 'What was counted on a cache that another writer has overtaken is committed by an append, which is lost, and then everything is counted anew. The rule saves the runs in between, and an error that no record is blamed for.',
  },
  'freed by a tick': {
    caughtBy: {
      file: 'test/unit/invocation/unit/marked-ticks.test.ts',
      title: 'records that a tick sets free are marked before they run, also in an environment that knows the subtask',
    },
    why: 'A record that kills has to wait behind a barrier that is given up, and each of its deaths to be followed by a call that recovers the subtask for something else. Seed 8004 was such a world, one of twelve thousand.',
  },
  'timers behind the end': {
    caughtBy: {
      file: 'test/unit/invocation/unit/timers-at-the-end.test.ts',
      title: 'do not fire behind the end, where their rows would be lost',
    },
    why: 'What a drawn job holds back by the clock it lets go with event time as well, since its meaning may not depend on the clock: nothing is left for a later timer.',
  },
  'redrive behind the end': {
    caughtBy: {
      file: 'test/unit/invocation/unit/poison.test.ts',
      title: 'behind the last barrier is refused: nothing would make its rows visible any more',
    },
    why: 'Between the last barrier of a subtask and the end of its job lie a few milliseconds, and only while there are faults does anybody redrive.',
  },
  'X first': {
    caughtBy: { of: 'lanes', rule: 'X first' },
    why: 'A split comes again from where it stands, so a marker outlives its record only where a mapping that cannot tell repeats gives it to a warm environment. What follows is a smaller batch, which is right as well; a record parked too soon asks for all its deaths first.',
  },
  'X old': {
    caughtBy: {
      file: 'test/unit/invocation/poison/marker.test.ts',
      title: 'M2: nor does a marker of an older generation count',
    },
    why: 'A restore is followed by a replay, which writes no marker and moves the position; the record that was marked comes first again only where there is nothing to replay.',
  },
  'X thrown': {
    caughtBy: {
      file: 'test/unit/invocation/poison/marker.test.ts',
      title: 'M2: nor one from before a try that was committed',
    },
    why: 'It takes a record that kills a few times, throws in a run without a marker, and then meets the marker of its last death: of one group after another, as a split has them, too few to park it too soon.',
  },
  'X lane': {
    caughtBy: { of: 'lanes', rule: 'X lane' },
    why: 'The messages of a subtask are one group; splits that share a subtask write over each other’s marker only while records of two of them kill by turns.',
  },
  'X contention': {
    caughtBy: {
      file: 'test/unit/invocation/poison/marker.test.ts',
      title: 'is written only when what it names has changed',
    },
    why: 'Runs alone count when their invocation must be over (M6); what a repeat adds by mistake parks a record too soon only after that wait, and others have passed by then.',
  },
  'X survived': {
    caughtBy: {
      file: 'test/unit/invocation/poison/marker.test.ts',
      title: 'M4: a process that lives puts back what it found, and after its commit leaves nothing',
    },
    why: 'Runs alone count when their invocation must be over (M6); what a repeat adds by mistake parks a record too soon only after that wait, and others have passed by then.',
  },
};
