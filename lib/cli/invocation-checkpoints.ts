// `sluice checkpoints list|show` for a job of `--runtime invocations`. They only read, so they may be called beside a run.
import { itemOf, loadPlan, type OpenedJob } from '../adapters/invocations/tools.ts';
import type { StateShape } from '../api/state.ts';
import { SluiceError } from '../core/errors.ts';
import { headsOf, readHandles } from '../invocation/coordinator/checkpoint-objects.ts';
import type { EntryHead } from '../invocation/entry.ts';
import type { CompletedCheckpoint } from '../invocation/job-item.ts';
import { loadJob } from './job-file.ts';
import type { Output } from './output.ts';
import { bytesText, countText, spanText } from './progress.ts';
import { tableText } from './table.ts';
import { timeText } from './time-text.ts';

export async function tellCheckpoints(opened: OpenedJob, output: Output): Promise<number> {
  const { completed } = await itemOf(opened);
  if (completed.length === 0) output.text('no completed checkpoint');
  else
    output.text(
      tableText(
        ['number', 'trigger', 'taken', 'duration', 'size', 'path'],
        completed.map((c) => rowOf(opened, c)),
        [0, 3, 4],
      ),
    );
  output.object({ job: opened.job, state: 'done', checkpoints: completed.map((c) => fieldsOf(opened, c)) });
  return 0;
}

function rowOf(opened: OpenedJob, c: CompletedCheckpoint): readonly string[] {
  const duration = spanText(c.completedMs - c.begunMs);
  return [String(c.checkpoint), c.trigger, timeText(c.begunMs), duration, bytesText(c.bytes), pathOf(opened, c)];
}

function fieldsOf(opened: OpenedJob, c: CompletedCheckpoint): Readonly<Record<string, unknown>> {
  const { checkpoint, trigger, begunMs, completedMs, bytes, generation } = c;
  const path = pathOf(opened, c);
  return {
    checkpoint,
    trigger,
    timestamp: begunMs,
    durationMs: completedMs - begunMs,
    bytes,
    isFinished: trigger === 'final',
    generation,
    path,
  };
}

function pathOf({ database }: OpenedJob, { metadata }: CompletedCheckpoint): string {
  return `${database}#${metadata}`;
}

/** The newest checkpoint. */
export async function tellCheckpoint(opened: OpenedJob, output: Output): Promise<number> {
  const { completed, job } = await itemOf(opened);
  const newest = completed.at(-1);
  if (newest === undefined)
    throw new SluiceError('CHECKPOINT_NOT_FOUND', { message: `${job} has no completed checkpoint yet`, next: 'try-again', job });
  const heads = headsOf(await readHandles(opened.ports.objects, newest));
  const { checkpoint, trigger, begunMs, completedMs, bytes, generation } = newest;
  const operators = await operatorsOf(opened, heads);
  output.text(
    [
      `checkpoint ${checkpoint} of ${job}${trigger === 'final' ? ', which had finished' : ''}`,
      `  trigger   ${trigger}`,
      `  taken     ${timeText(begunMs)}`,
      `  duration  ${spanText(completedMs - begunMs)}`,
      `  size      ${bytesText(bytes)}`,
      `  mode      invocations, generation ${generation}`,
      `  path      ${pathOf(opened, newest)}`,
      '',
      tableText(
        ['subtask', 'entry', 'in the table', 'input', 'transactions'],
        heads.map((h) => [h.subtask, String(h.n), `up to ${h.flushedThrough}`, inputText(h), String(h.transactions.length)]),
        [1, 4],
      ),
      ...(operators === undefined
        ? []
        : [
            '',
            tableText(
              ['operator', 'subtasks', 'state', 'transactions'],
              operators.map((o) => [o.uid, String(o.parallelism), stateText(o), String(o.pendingTransactions)]),
              [1, 3],
            ),
          ]),
    ].join('\n'),
  );
  output.object({ job, state: 'done', ...fieldsOf(opened, newest), subtasks: heads.map(subtaskFields), operators });
  return 0;
}

interface OperatorReport {
  readonly uid: string;
  readonly name: string;
  readonly parallelism: number;
  readonly keyed: readonly { readonly name: string; readonly kind: string }[];
  readonly pendingTransactions: number;
}

/**
 * Which states each operator has, from the job's code, and what its sink has promised. A handle names the entry that the state is as of; how much
 * that is in bytes nobody has counted. `undefined`: the code is not here or makes another plan.
 */
async function operatorsOf(opened: OpenedJob, heads: readonly EntryHead[]): Promise<readonly OperatorReport[] | undefined> {
  const plan = await loadPlan(opened, loadJob).catch(() => undefined);
  const transactions = heads.flatMap((head) => head.transactions);
  return plan?.stages.flatMap(({ operators, parallelism }) =>
    operators.map(({ uid, name, node }) => ({
      uid,
      name,
      parallelism,
      keyed: Object.entries('state' in node.operator ? (node.operator.state as StateShape) : {}).map(([property, { name, kind }]) => ({
        name: name ?? property,
        kind,
      })),
      pendingTransactions: transactions.filter(({ sink }) => sink === uid).length,
    })),
  );
}

function stateText({ keyed }: OperatorReport): string {
  return keyed.length === 0 ? '' : keyed.map(({ name, kind }) => `${name} (${kind})`).join(', ');
}

function inputText({ splits, channels }: EntryHead): string {
  if (splits.length === 0) return `${channels.length} channel${channels.length === 1 ? '' : 's'}`;
  return splits
    .map(({ split, position, hasEnded }) => `${split.id} at ${countText(position?.index ?? 0)}${hasEnded ? ' (end)' : ''}`)
    .join(', ');
}

function subtaskFields(h: EntryHead): Readonly<Record<string, unknown>> {
  return {
    subtask: h.subtask,
    n: h.n,
    flushedThrough: h.flushedThrough,
    hasEnded: h.hasEnded,
    splits: h.splits.map(({ split, position, hasEnded }) => ({ id: split.id, index: position?.index ?? 0, hasEnded })),
    pendingTransactions: h.transactions.length,
  };
}
