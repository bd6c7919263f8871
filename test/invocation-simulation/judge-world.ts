// The end of a world: what was parked has a reason, what came out is what the job makes of the rest, and no transaction is left undecided.

import type { Plan } from '../../lib/graph/plan.ts';
import type { ListedLetter } from '../../lib/invocation/unit/look.ts';
import type { Row } from '../simulation/spec.ts';
import type { JobWorld } from './job-world.ts';
import { type Ended, judged } from './judgement.ts';
import { parkedRows } from './trouble.ts';

export interface WorldEnd extends Pick<Ended, 'rewinds' | 'held' | 'isCutOff'> {
  readonly letters: readonly ListedLetter[];
  readonly plan: Plan;
  /** Letters may have been redriven. */
  readonly isRedriven: boolean;
}

/** Tells the auditors what is wrong with it. */
export function judgeWorld({ auditors, setting, targets, trouble }: JobWorld, { letters, plan, isRedriven, ...end }: WorldEnd): void {
  for (const what of trouble.judged(letters)) auditors.fail(what);
  const heads = new Map(auditors.item!.owners.map((o) => [o.subtask, plan.stages[o.stage]!.operators[0]!.uid]));
  const parkedIn = (some: readonly ListedLetter[]): Ended['parked'] => parkedRows(some, (subtask) => heads.get(subtask)!);
  const isMended = ({ letter }: ListedLetter): boolean => trouble.isMended(letter.batch.values[0] as Row);
  const neverRun = isRedriven ? { neverRun: parkedIn(letters.filter((one) => !isMended(one))) } : {};
  for (const what of judged(setting.spec, targets, { ...end, ...neverRun, parked: parkedIn(letters), isCalm: false })) auditors.fail(what);
  for (const what of targets.violations) auditors.fail(what);
  for (const name of targets.undecided()) auditors.fail(`transaction ${name} is prepared and never decided`);
}
