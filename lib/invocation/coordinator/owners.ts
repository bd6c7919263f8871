// Who the subtasks of a plan are, and who sends to whom. Splits go to subtask (ordinal mod parallelism), as in one process; those of a source that
// evolves are subtasks of their own.

import type { Source, Split, SplitRange } from '../../api/source.ts';
import type { Plan, Stage } from '../../graph/plan.ts';
import { reachableTargets } from '../../runtime/routing.ts';
import type { Owner } from '../job-item.ts';

/** The source that a stage reads, if it is one that does. */
export function sourceOf(stage: Stage | undefined): Source<unknown> | undefined {
  const operator = stage?.operators[0]?.node.operator;
  return operator?.kind === 'source' ? operator.source : undefined;
}

/** Owners of a new job, in order of stage and index. */
export function ownersOf(plan: Plan, splits: ReadonlyMap<number, readonly Split[]>): readonly Owner[] {
  return plan.stages.flatMap((stage) => {
    const { id, parallelism } = stage;
    if (sourceOf(stage)?.evolution !== undefined) return (splits.get(id) ?? []).map((split, ordinal) => splitOwner(id, ordinal, split));
    const ordinals = (splits.get(id) ?? []).map((_, ordinal) => ordinal);
    return Array.from({ length: parallelism }, (_, index) => ({
      subtask: `${id}-${index}`,
      stage: id,
      index,
      splits: ordinals.filter((ordinal) => ordinal % parallelism === index),
    }));
  });
}

/** The subtask of a split of its own. */
export function splitOwner(stage: number, ordinal: number, { range }: { readonly range?: SplitRange | undefined }): Owner {
  return { subtask: `${stage}-s${ordinal}`, stage, index: ordinal, splits: [ordinal], ...(range === undefined ? {} : { range }) };
}

/** Every channel into a subtask, in order of exchange and of sender. A sender that never says a word counts too: its barriers are awaited. */
export function channelsInto(
  owner: Owner,
  owners: readonly Owner[],
  plan: Plan,
): readonly { readonly exchange: number; readonly sender: string }[] {
  const stage = plan.stages[owner.stage];
  return (stage?.inputs ?? []).flatMap((exchange) => {
    const from = plan.stages[exchange.fromStage]!;
    return owners
      .filter((o) => o.stage === from.id)
      .filter((o) => reachableTargets(exchange, o.index, from.parallelism, stage!.parallelism).includes(owner.index))
      .map((o) => ({ exchange: exchange.id, sender: o.subtask }));
  });
}
