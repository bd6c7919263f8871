// Answers what needs the code of a job: its state by key, its dead letters, its transactions. Reads are strong, and nothing here is on the way of a
// record.
import { lookUpState } from '../adapters/invocations/state-look-up.ts';
import { jsonText } from '../cli/json-text.ts';
import { SluiceError } from '../core/errors.ts';
import { formatBytes } from '../core/limits.ts';
import { describedOperators } from '../invocation/coordinator/checkpoint-sizes.ts';
import { readExistingJob } from '../invocation/coordinator/read-job.ts';
import { isUnsettled, type ListedTransaction, listTransactions, transactionFields } from '../invocation/sinks/list-transactions.ts';
import { settleByHand } from '../invocation/sinks/settle-by-hand.ts';
import { listLetters } from '../invocation/unit/look.ts';
import type { Deployed } from './deployed.ts';
import { errorLine, functionError } from './function-error.ts';
import { lettersAfter } from './letters-answer.ts';
import { settlerOf } from './pulse-handler.ts';

export type Query =
  | { readonly command: 'operators' }
  | { readonly command: 'state get'; readonly operator: string; readonly state: string; readonly key: unknown }
  /** `after`: the letter that the answer before ended with. */
  | { readonly command: 'dead-letters list'; readonly after?: string }
  | { readonly command: 'dead-letters redrive'; readonly letters: readonly string[] | 'all' }
  | { readonly command: 'transactions list' }
  | { readonly command: 'transactions commit' | 'transactions abort'; readonly names: readonly string[] | 'all' };

type Answer = Readonly<Record<string, unknown>>;

export async function handleQuery(deployed: Deployed, query: Query): Promise<Answer> {
  try {
    const text = jsonText(await answer(deployed, query));
    if (Buffer.byteLength(text) > answerBytesMax) throw answerTooLarge(query.command, text);
    return JSON.parse(text) as Answer;
  } catch (error) {
    console.error(errorLine(error));
    throw functionError(error);
  }
}

async function answer(deployed: Deployed, query: Query): Promise<Answer> {
  switch (query.command) {
    case 'operators':
      return { state: 'done', operators: describedOperators(deployed.plan) };
    case 'state get': {
      const { operator, state, key } = query;
      return { state: 'done', operator, name: state, key, ...(await lookUpState(deployed.services, { operator, state, key })) };
    }
    case 'dead-letters list':
      return { state: 'done', ...lettersAfter(await listLetters(deployed.services), query.after) };
    case 'dead-letters redrive':
      return await redrive(deployed, query.letters);
    case 'transactions list':
      return { state: 'done', transactions: (await pending(deployed)).map(transactionFields) };
    case 'transactions commit':
      return await settle(deployed, 'commit', query.names);
    case 'transactions abort':
      return await settle(deployed, 'abort', query.names);
    default:
      throw new SluiceError('COMMAND_LINE_INVALID', {
        message: `a query function is asked '${String((query as { readonly command?: unknown }).command)}', which it does not know`,
        next: 'fix-the-command',
      });
  }
}

/** Lambda takes 6 MB of an answer. */
const answerBytesMax = 6_000_000;

function answerTooLarge(command: string, text: string): SluiceError {
  return new SluiceError('ANSWER_TOO_LARGE', {
    message: `\`${command}\` has an answer of ${formatBytes(Buffer.byteLength(text))}, and a function can give ${formatBytes(answerBytesMax)}`,
    next: 'fix-the-command',
    advice: 'read it where it lies: `sluice deploy` told table and bucket, and so do the outputs of the stack',
  });
}

async function redrive({ services, environment }: Deployed, wanted: readonly string[] | 'all'): Promise<Answer> {
  const all = await listLetters(services);
  const chosen = wanted === 'all' ? all : wanted.map((id) => found(all, id, (one) => one.id, 'dead letter'));
  const letters: Answer[] = [];
  for (const { id, subtask } of chosen) {
    const { kind, ...rest } = await environment.invoke({ kind: 'redrive', subtask, letter: id });
    letters.push({ letter: id, outcome: kind === 'done' ? 'redriven' : (rest as { readonly why: string }).why });
  }
  return { state: letters.every(({ outcome }) => outcome === 'redriven') ? 'done' : 'refused', letters };
}

async function pending({ ports }: Deployed): Promise<readonly ListedTransaction[]> {
  const { item } = await readExistingJob(ports);
  const isOver = item.status === 'finished' || item.status === 'cancelled';
  return (await listTransactions(ports, item)).filter((one) => !isOver || isUnsettled(one));
}

/** A job that works settles its transactions itself, and would be stuck with one that was decided the other way. */
async function settle(deployed: Deployed, how: 'commit' | 'abort', names: readonly string[] | 'all'): Promise<Answer> {
  const { ports } = deployed;
  const { item } = await readExistingJob(ports);
  const isOver = item.status === 'finished' || item.status === 'cancelled';
  if (!isOver && (how === 'abort' || item.status !== 'paused')) {
    throw new SluiceError('JOB_NOT_IN_STATE', {
      message: `${item.job} is ${item.status}, and settles its transactions itself; ${how === 'abort' ? 'cancel' : 'pause'} it first`,
      next: 'fix-the-command',
      job: item.job,
    });
  }
  const all = await pending(deployed);
  const chosen = names === 'all' ? all.filter(isUnsettled) : names.map((name) => found(all, name, (one) => one.name, 'transaction'));
  const wereCommitted: string[] = [];
  for (const { transaction, name } of chosen) {
    if ((await settleByHand(ports, settlerOf(deployed), { transaction, how })) === 'committed' && how === 'abort') wereCommitted.push(name);
  }
  const state = wereCommitted.length === 0 ? 'done' : 'refused';
  return { state, settled: how, transactions: chosen.map(({ name }) => name), wereCommitted };
}

function found<T>(all: readonly T[], name: string, nameOf: (one: T) => string, what: string): T {
  const one = all.find((candidate) => nameOf(candidate) === name);
  if (one !== undefined) return one;
  throw new SluiceError('COMMAND_LINE_INVALID', { message: `there is no ${what} '${name}'`, next: 'fix-the-command' });
}
