// `sluice transactions list|commit|abort NAME`: what is promised to the targets of sinks and not known to be settled, and settling it by hand.
import { itemOf, loadPlan, type OpenedJob, ownerOf, settlerOf } from '../adapters/invocations/tools.ts';
import { SluiceError } from '../core/errors.ts';
import { isUnsettled, type ListedTransaction, listTransactions, transactionFields } from '../invocation/sinks/list-transactions.ts';
import { settleByHand } from '../invocation/sinks/settle-by-hand.ts';
import { usageError } from './arguments.ts';
import type { Call, Command } from './commands.ts';
import { invocationsJob, withTargets } from './invocations-job.ts';
import { loadJob } from './job-file.ts';
import { countText } from './progress.ts';
import { tableText } from './table.ts';

const head = ['transaction', 'sink', 'subtask', 'checkpoint', 'rows', 'state'];

export const list: Command = async (call) => {
  const opened = await invocationsJob(call);
  try {
    const item = await itemOf(opened);
    const isOver = item.status === 'finished' || item.status === 'cancelled';
    // Subtasks of a job that is over will never hear that theirs are settled.
    const listed = (await listTransactions(opened.ports, item)).filter((one) => !isOver || isUnsettled(one));
    call.output.text(listed.length === 0 ? 'no transaction is pending' : tableText(head, listed.map(rowOf), [3, 4]));
    call.output.object({ job: opened.job, state: 'done', transactions: listed.map(transactionFields) });
    return 0;
  } finally {
    opened.close();
  }
};

function rowOf({ name, sink, subtask, checkpoint, rows, state, why }: ListedTransaction): readonly string[] {
  const told = why === undefined ? state : `${state}: ${why}`;
  return [name, sink, subtask, String(checkpoint), rows === undefined ? 'gone' : countText(rows), told];
}

export const commit: Command = (call) => settle(call, 'commit');
export const abort: Command = (call) => settle(call, 'abort');

async function settle(call: Call, how: 'commit' | 'abort'): Promise<number> {
  const { output, arguments: given } = call;
  const names = given.flags.get('transaction') ?? [];
  if ((names.length === 0) !== given.flags.has('all'))
    throw usageError(`\`sluice ${call.shape.name}\` needs --transaction, once for each, or --all`);
  const opened = await invocationsJob(call);
  try {
    await refuseWhileItWorks(opened, how);
    const listed = await listTransactions(opened.ports, await itemOf(opened));
    const wanted = names.length === 0 ? listed.filter(isUnsettled) : names.map((name) => findOne(listed, name));
    const plan = await loadPlan(opened, loadJob);
    const tooLate: string[] = [];
    await withTargets(call, opened, async (voice) => {
      const settler = settlerOf(opened, plan, voice);
      for (const { transaction, name } of wanted) {
        const outcome = await settleByHand(opened.ports, settler, { transaction, how });
        if (how === 'abort' && outcome === 'committed') tooLate.push(name);
        output.text(tooLate.includes(name) ? `${name} was committed before, and stays so: its rows are visible` : `${name} is ${outcome}`);
      }
    });
    const settled = { transactions: wanted.map(({ name }) => name), settled: how };
    output.object({ job: opened.job, state: 'done', ...settled, ...(tooLate.length === 0 ? {} : { wereCommitted: tooLate }) });
    return tooLate.length === 0 ? 0 : 1;
  } finally {
    opened.close();
  }
}

/** The next checkpoint of a job that goes on promises it again, and could never keep the promise. */
function stillPromised({ job }: OpenedJob, status: string): SluiceError {
  return new SluiceError('JOB_NOT_IN_STATE', {
    message: `${job} is ${status}, and what it has promised to its sinks cannot be taken back while it may go on`,
    next: 'fix-the-command',
    advice: `cancel it first: \`sluice cancel ${job}\``,
    job,
  });
}

function findOne(listed: readonly ListedTransaction[], name: string): ListedTransaction {
  const found = listed.find((one) => one.name === name);
  if (found !== undefined) return found;
  throw usageError(`no transaction '${name}' is pending`, { transaction: name });
}

/** A job that works settles its transactions itself, and would be stuck with one that was decided the other way. */
async function refuseWhileItWorks(opened: OpenedJob, how: 'commit' | 'abort'): Promise<void> {
  const { status } = await itemOf(opened);
  const owner = await ownerOf(opened);
  if (how === 'abort' && status !== 'cancelled' && status !== 'finished') throw stillPromised(opened, status);
  if (owner === undefined || status === 'paused') return;
  throw new SluiceError('JOB_NOT_IN_STATE', {
    message: `${opened.job} is ${status}, by ${owner}, and settles its transactions itself`,
    next: 'fix-the-command',
    advice: `pause it first: \`sluice pause ${opened.job}\``,
    job: opened.job,
  });
}
