// targets.ts holds what was measured against what the runtime promises of its cost. Pure.

import type { TargetLine } from '../report.ts';
import { type Counts, requestsOf } from './meter.ts';
import type { Arrival, CheckpointCost, RestoreCost } from './moments.ts';
import { requestsOfRestore } from './moments.ts';
import { type Steady, totalUnitsPerRecord } from './steady.ts';

const pageBytes = 1_048_576;

/** What a source unit asks for. Only in environments that ran the unit before. */
export function warmTargets(s: Steady): readonly TargetLine[] {
  if (s.placement !== 'affinity') return [];
  const { units, others } = s.warm;
  const measured =
    others.length === 0 ? `all ${units.toLocaleString('en')} units` : `${others.length} of ${units} units differ: ${others[0]}`;
  const isMet = units > 0 && others.length === 0;
  return [{ what: `${s.name}: a warm unit whose keys are known`, target: '1 append, no read', measured, isMet }];
}

export function cpuTarget(s: Steady): TargetLine {
  const most = s.batch <= 100 ? 2 : 10;
  const { wallMs, cpuMs } = s.warm;
  const measured = `${cpuMs.median.toFixed(2)} ms (with whatever else the machine did: median ${wallMs.median.toFixed(2)} ms, p99 ${wallMs.p99.toFixed(1)} ms)`;
  return { what: `${s.name}: CPU time of a warm unit, median`, target: `< ${most} ms`, measured, isMet: cpuMs.median < most };
}

export function unitsTarget(s: Steady): TargetLine {
  const most = s.batch <= 100 ? 0.1 : 0.02;
  const { entries, objects, table, other } = s.unitsPerRecord;
  const all = totalUnitsPerRecord(s.unitsPerRecord);
  const parts = [
    `entries ${entries.toFixed(4)}`,
    `objects ${objects.toFixed(4)}`,
    `table ${table.toFixed(4)}`,
    `other ${other.toFixed(4)}`,
  ];
  const measured = `${all.toFixed(4)} (${parts.join(', ')})`;
  return { what: `${s.name}: 1 KB write units a record`, target: `≤ ${most}`, measured, isMet: all <= most };
}

/** What of an arrival is more than allowed. */
export function excessOfArrival({ counts, touchedKeys }: Arrival): readonly string[] {
  const { append, 'item get': gets, 'ring page': pages, 'table read': reads, 'object put': puts, 'object get': bodies } = counts;
  const others = requestsOf(counts) - [append, gets, pages, reads, puts, bodies].reduce((sum, { requests }) => sum + requests, 0);
  const checks: readonly (readonly [string, number, number])[] = [
    ['appends', append.requests, 1],
    ['gets of the job item', gets.requests, 2],
    ['pages', pages.requests, Math.ceil(pages.bytes / pageBytes) + 1],
    ['batch reads', reads.requests, Math.ceil(touchedKeys / 100)],
    ['other requests', others, 0],
  ];
  return checks.filter(([, asked, most]) => asked > most).map(([what, asked, most]) => `${asked} ${what}, not ${most}`);
}

export function arrivalTarget(batch: number, arrivals: readonly Arrival[]): TargetLine {
  const excess = arrivals.flatMap(excessOfArrival);
  const most = (of: (a: Arrival) => number): number => Math.max(...arrivals.map(of));
  const seen = `2 gets, ${most((a) => a.counts['ring page'].requests)} pages, ${most((a) => a.counts['table read'].requests)} batch reads for ${most((a) => a.touchedKeys)} keys`;
  const bodies = most((a) => a.counts['object get'].requests);
  return {
    what: `a unit of ${batch.toLocaleString('en')} records in an environment that is new to the subtask`,
    target: '2 gets, the pages of the ring, ⌈keys / 100⌉ batch reads, 1 append',
    measured: `${excess[0] ?? seen}${bodies > 0 ? `; ${bodies} bodies of entries from objects` : ''}`,
    isMet: excess.length === 0,
  };
}

const getsOf = (c: Counts): number => c['slot read'].requests + c['item get'].requests;

const notSeen = (c: Counts): number => c['ring page'].requests + c['object get'].requests;

export function excessOfSubtask({ subtask, calls, inputs, targets, counts }: CheckpointCost['subtasks'][number]): readonly string[] {
  const { append, 'item put': acknowledgements, send } = counts;
  // The body of an entry that lies in an object is as much of what was not seen as its page.
  const allowed = getsOf(counts) + notSeen(counts) + append.requests + acknowledgements.requests + send.requests;
  const sends = Math.ceil(targets / 10);
  const checks: readonly (readonly [string, number, number])[] = [
    ['gets', getsOf(counts), 2 * calls],
    ['appends', append.requests, inputs],
    ['acknowledgements', acknowledgements.requests, 1],
    ['sends', send.requests, sends === 0 ? 0 : sends + 1],
    ['other requests', requestsOf(counts) - allowed, 0],
  ];
  return checks.filter(([, asked, most]) => asked > most).map(([what, asked, most]) => `${subtask}: ${asked} ${what}, not ${most}`);
}

/** Without the removal of each acknowledgement, which is one for each subtask. */
export function requestsOfCoordinator({ coordinator, subtasks }: CheckpointCost): number {
  return requestsOf(coordinator) - Math.min(coordinator['item remove'].requests, subtasks.length);
}

const stagesText = (stages: 1 | 2): string => (stages === 1 ? 'one stage' : 'two stages');

export function checkpointTargets(costs: readonly CheckpointCost[]): readonly TargetLine[] {
  const lines: TargetLine[] = [];
  for (const cost of costs) {
    const excess = cost.subtasks.flatMap(excessOfSubtask);
    const name = `a checkpoint, ${stagesText(cost.stages)}, ${cost.keys.toLocaleString('en')} keys, ${cost.where}`;
    const largest = Math.max(...cost.subtasks.map(({ counts }) => requestsOf(counts) - notSeen(counts)));
    const seen = cost.subtasks.map(({ counts }) => `${counts['ring page'].requests} pages, ${counts['object get'].requests} bodies`);
    lines.push({
      what: `${name}: each subtask`,
      target: '≤ 2 gets a call, pages not seen, 1 append an input, 1 acknowledgement, ⌈targets / 10⌉ sends, 1 re-delivery',
      measured: excess[0] ?? `at most ${largest} requests; not seen: ${seen[0]}`,
      isMet: excess.length === 0,
    });
    const requests = requestsOfCoordinator(cost);
    const removals = requestsOf(cost.coordinator) - requests;
    const measured = `${requests}, and ${removals} acknowledgements removed`;
    lines.push({ what: `${name}: coordinator`, target: '≤ 8', measured, isMet: requests <= 8 });
  }
  return [...lines, ...equalityTargets(costs)];
}

/** The number of keys makes no difference. */
function equalityTargets(costs: readonly CheckpointCost[]): readonly TargetLine[] {
  const groups = Map.groupBy(costs, ({ stages, where }) => `${stagesText(stages)}, ${where}`);
  return [...groups].flatMap(([name, group]) => {
    if (group.length < 2) return [];
    const totals = group.map(
      ({ coordinator, subtasks }) =>
        requestsOf(coordinator) + subtasks.reduce((sum, { counts }) => sum + requestsOf(counts) - notSeen(counts), 0),
    );

    const keys = group.map((cost) => cost.keys.toLocaleString('en')).join(' and ');
    const isMet = new Set(totals).size === 1;
    return [
      {
        what: `a checkpoint, ${name}: with ${keys} keys`,
        target: 'equal',
        measured: `${totals.join(' and ')} requests, besides what was not seen`,
        isMet,
      },
    ];
  });
}

export function restoreTarget(cost: RestoreCost): TargetLine {
  const requests = requestsOfRestore(cost);
  const { counts, overflowed } = cost;
  const stateReads = counts['table read'].requests + counts['partition read'].requests;
  const pages = `${counts['ring page'].requests} pages${overflowed > 0 ? ` and ${overflowed} bodies of entries from objects` : ''}`;
  return {
    what: `a restore, ${stagesText(cost.stages)}, ${cost.keys.toLocaleString('en')} keys`,
    target: '≤ 6 requests a subtask besides the pages of its rings, no state read',
    measured: `${requests.toFixed(1)} (coordinator included), ${stateReads} state reads, ${pages}`,
    isMet: requests <= 6 && stateReads === 0,
  };
}
