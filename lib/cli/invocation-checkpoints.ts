// `sluice checkpoints list|show` for a job of `--runtime invocations`. They only read, so they may be called beside a run.
import { itemOf, loadPlan, type OpenedJob } from '../adapters/invocations/tools.ts';
import { SluiceError } from '../core/errors.ts';
import { headsOf, readHandles } from '../invocation/coordinator/checkpoint-objects.ts';
import { type DescribedOperator, describedOperators, type SubtaskSizes, sizesOf } from '../invocation/coordinator/checkpoint-sizes.ts';
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

/** The operators of a job; `undefined`: its code is not at hand. */
export type OperatorsOf = () => Promise<readonly DescribedOperator[] | undefined>;

/**
 * The newest checkpoint.
 * @param operatorsOf  the module that the last run named, when absent
 */
export async function tellCheckpoint(opened: OpenedJob, output: Output, operatorsOf: OperatorsOf = fromModule(opened)): Promise<number> {
  const { completed, job } = await itemOf(opened);
  const newest = completed.at(-1);
  if (newest === undefined)
    throw new SluiceError('CHECKPOINT_NOT_FOUND', { message: `${job} has no completed checkpoint yet`, next: 'try-again', job });
  const handles = await readHandles(opened.ports.objects, newest);
  const [heads, sizes] = [headsOf(handles), await sizesOf(opened.ports.objects, handles)];
  const operators = reportsOf(await operatorsOf(), heads, sizes);
  const { checkpoint, trigger, begunMs, completedMs, bytes, generation } = newest;
  const stateBytes = sum(sizes, bytesOfSubtask);
  output.text(
    [
      `checkpoint ${checkpoint} of ${job}${trigger === 'final' ? ', which had finished' : ''}`,
      `  trigger   ${trigger}`,
      `  taken     ${timeText(begunMs)}`,
      `  duration  ${spanText(completedMs - begunMs)}`,
      `  metadata  ${bytesText(bytes)}`,
      `  state     ${bytesText(stateBytes)}${operators?.some(({ isShared }) => isShared) === true ? besides : ''}`,
      `  mode      invocations, generation ${generation}`,
      `  path      ${pathOf(opened, newest)}`,
      '',
      subtaskTable(heads, sizes),
      ...(operators === undefined ? [] : ['', operatorTable(operators)]),
    ].join('\n'),
  );
  const subtasks = heads.map((head, at) => subtaskFields(head, sizes[at]!));
  output.object({ job, state: 'done', ...fieldsOf(opened, newest), stateBytes, subtasks, operators });
  return 0;
}

/** The table is no checkpoint's own, so that its bytes are no checkpoint's size. */
const besides = ', besides keyed state in the table, which checkpoints share';

function fromModule(opened: OpenedJob): OperatorsOf {
  return async () => {
    const plan = await loadPlan(opened, loadJob).catch(() => undefined); // it is gone, or makes another plan
    return plan === undefined ? undefined : describedOperators(plan);
  };
}

interface OperatorReport extends DescribedOperator {
  /** Without what lies in the table. */
  readonly bytes: number;
  /** The same of each subtask that has any. */
  readonly subtasks: readonly { readonly subtask: string; readonly bytes: number }[];
  readonly pendingTransactions: number;
}

/** Pure. */
function reportsOf(
  operators: readonly DescribedOperator[] | undefined,
  heads: readonly EntryHead[],
  sizes: readonly SubtaskSizes[],
): readonly OperatorReport[] | undefined {
  const transactions = heads.flatMap((head) => head.transactions);
  return operators?.map((operator) => {
    const subtasks = sizes.flatMap(({ subtask, operators: of }) => {
      const bytes = of.get(operator.uid);
      return bytes === undefined ? [] : [{ subtask, bytes }];
    });
    const pendingTransactions = transactions.filter(({ sink }) => sink === operator.uid).length;
    return { ...operator, bytes: sum(subtasks, ({ bytes }) => bytes), subtasks, pendingTransactions };
  });
}

function subtaskTable(heads: readonly EntryHead[], sizes: readonly SubtaskSizes[]): string {
  return tableText(
    ['subtask', 'entry', 'in the table', 'input', 'metadata', 'state', 'transactions'],
    heads.map((h, at) => {
      const { metadataBytes } = sizes[at]!;
      const state = bytesText(bytesOfSubtask(sizes[at]!));
      const transactions = String(h.transactions.length);
      return [h.subtask, String(h.n), `up to ${h.flushedThrough}`, inputText(h), bytesText(metadataBytes), state, transactions];
    }),
    [1, 4, 5, 6],
  );
}

function operatorTable(operators: readonly OperatorReport[]): string {
  return tableText(
    ['operator', 'subtasks', 'size', 'state', 'transactions'],
    operators.map((o) => [o.uid, String(o.parallelism), sizeText(o), stateText(o), String(o.pendingTransactions)]),
    [1, 2, 4],
  );
}

function sizeText({ bytes, isShared }: OperatorReport): string {
  if (!isShared) return bytesText(bytes);
  return bytes === 0 ? 'in the table' : `${bytesText(bytes)} + table`;
}

function bytesOfSubtask({ operators }: SubtaskSizes): number {
  return sum([...operators.values()], (bytes) => bytes);
}

function sum<T>(all: readonly T[], of: (one: T) => number): number {
  return all.reduce((total, one) => total + of(one), 0);
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

function subtaskFields(h: EntryHead, sizes: SubtaskSizes): Readonly<Record<string, unknown>> {
  return {
    subtask: h.subtask,
    n: h.n,
    flushedThrough: h.flushedThrough,
    hasEnded: h.hasEnded,
    metadataBytes: sizes.metadataBytes,
    stateBytes: bytesOfSubtask(sizes),
    splits: h.splits.map(({ split, position, hasEnded }) => ({ id: split.id, index: position?.index ?? 0, hasEnded })),
    pendingTransactions: h.transactions.length,
  };
}
