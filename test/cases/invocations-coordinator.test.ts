// Cases of the coordinator and of what it keeps: executions that end, and many participants.
import { describe, expect, test } from 'vitest';
import { decideNext } from '../../lib/aws/pulse-handler.ts';
import { definition } from '../../lib/cdk/coordinator.ts';
import type { PulseReport } from '../../lib/invocation/coordinator/pulse.ts';
import type { JobItem, Owner } from '../../lib/invocation/job-item.ts';
import { encodeHandles, encodeJobItem } from '../../lib/invocation/job-item-codec.ts';
import { storedItemBytesMax } from '../../lib/invocation/request-limits.ts';
import { handles, jobItem } from '../golden/invocation/stored.ts';

describe('C58: a standard execution for each minute, for three days with a checkpoint every 10 s', () => {
  const intervalMs = 10_000;
  const report = { isBusy: false, item: { status: 'running' } } as PulseReport;
  const busy = { ...report, isBusy: true };

  /** @param isMissed  whether the schedule leaves out this minute */
  function threeDays(isMissed: (minute: number) => boolean) {
    const minutes = 3 * 24 * 60;
    const pulses: number[] = [];
    let most = 0;
    for (let minute = 0; minute < minutes; minute++) {
      if (isMissed(minute)) continue;
      const beganMs = minute * 60_000;
      let next = minute + 1;
      while (next < minutes && isMissed(next)) next += 1;
      let calls = 0;
      for (let nowMs = beganMs; ; ) {
        calls += 1;
        pulses.push(nowMs);
        const isSucceeded = nowMs >= next * 60_000;
        const said = decideNext({ report: calls % 3 === 0 ? busy : report, isSucceeded, intervalMs, elapsedMs: nowMs - beganMs });
        if (said.next === 'done') break;
        nowMs += said.waitSeconds * 1_000;
      }
      most = Math.max(most, calls);
    }
    return { pulses: pulses.sort((a, b) => a - b), most };
  }

  const statesOfOneCall = ['Pulse', 'Again?', 'Wait'];
  const eventsOfOneCall = 5 * statesOfOneCall.length + 2; // entered, scheduled, started, succeeded, left; and retries

  test.each([
    ['every minute', () => false],
    ['but for every third minute', (minute: number) => minute % 3 === 2],
  ])('started %s, none comes near 25,000 events of history, and there is never a gap of an interval', (_, isMissed) => {
    expect(Object.keys(definition().States as object)).toEqual(expect.arrayContaining(statesOfOneCall));
    const { pulses, most } = threeDays(isMissed);
    expect(most * eventsOfOneCall).toBeLessThan(25_000 / 4);
    const gaps = pulses.slice(1).map((at, i) => at - pulses[i]!);
    expect(Math.max(...gaps)).toBeLessThanOrEqual(intervalMs);
  });

  test('where the schedule stands still, an execution ends by itself in time', () => {
    const { most } = threeDays((minute) => minute > 0);
    expect(most * eventsOfOneCall).toBeLessThan(25_000 / 4);
  });
});

describe('C59: two thousand participants', () => {
  const owners = Array.from({ length: 2_000 }, (_, index): Owner => ({ subtask: `1-${index}`, stage: 1, index, splits: [] }));

  test('their handles are one object, and what names it stays below the limit of an item', () => {
    const [handle] = handles;
    const head = new Uint8Array(600).fill(7);
    const bytes = encodeHandles(owners.map(({ subtask }) => ({ ...handle!, subtask, head })));
    expect(bytes.length, 'no payload and no item could hold them').toBeGreaterThan(1_000_000);
    const [completed] = jobItem.completed;
    const [open] = jobItem.open;
    const item: JobItem = {
      ...jobItem,
      owners,
      completed: [completed!, completed!, completed!].map((one, i) => ({ ...one, checkpoint: i + 1, owners })),
      open: [{ ...open!, owners: owners.map(({ subtask }) => subtask) }],
      restoring: undefined,
      moving: undefined,
      until: [],
      rings: [...owners, ...owners].map(({ subtask }, i) => `${i < 2_000 ? 0 : 1}/${subtask}`),
    };
    expect(encodeJobItem(item).length).toBeLessThan(storedItemBytesMax);
  });

  test('an execution says three words, however many they are', () => {
    const { Pulse: pulse } = definition().States as { readonly Pulse: { readonly ResultSelector: object; readonly Parameters: object } };
    expect(pulse.ResultSelector).toEqual({ 'next.$': '$.Payload.next', 'waitSeconds.$': '$.Payload.waitSeconds' });
  });
});
