// Commands that need the code of a deployed job: its query function has it, and answers what the same command prints with `--json` of a job in a
// file.
import { usageError } from '../arguments.ts';
import type { Call, Command } from '../commands.ts';
import { jsonOrText, requiredFlag } from '../invocations-job.ts';
import { jsonText } from '../json-text.ts';
import { letterTable, letterText, outcomeText } from '../letter-texts.ts';
import { tableText } from '../table.ts';
import { type OpenedDeployment, withDeployment } from './open.ts';

type Fields = Readonly<Record<string, unknown>>;

async function ask(call: Call, event: Fields, tell: (answer: Fields) => number): Promise<number> {
  return await withDeployment(call, async ({ deployed, functions }) => {
    const answer = (await functions.call(deployed.query, event)) as Fields;
    const code = tell(answer);
    call.output.object({ job: deployed.job, ...answer });
    return code;
  });
}

export const stateGetDeployed: Command = (call) => {
  const key = jsonOrText(requiredFlag(call, 'key'));
  const event = { command: 'state get', operator: requiredFlag(call, 'operator'), state: requiredFlag(call, 'state'), key };
  return ask(call, event, ({ value }) => {
    call.output.text(value === undefined || value === null ? `nothing is kept for ${jsonText(key)}` : jsonText(value));
    return 0;
  });
};

/** All of them; one answer of a function holds so many. */
async function lettersOf({ deployed, functions }: OpenedDeployment): Promise<readonly Fields[]> {
  const letters: Fields[] = [];
  for (let after: unknown, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    const event = { command: 'dead-letters list', ...(after === undefined ? {} : { after }) };
    const answer = (await functions.call(deployed.query, event)) as Fields;
    letters.push(...resultsOf(answer));
    after = answer.next;
  }
  return letters;
}

function resultsOf(answer: Fields): readonly Fields[] {
  return (answer.letters ?? []) as readonly Fields[];
}

export const listDeployedLetters: Command = (call) =>
  withDeployment(call, async (o) => {
    const letters = await lettersOf(o);
    call.output.text(letterTable(letters));
    call.output.object({ job: o.deployed.job, state: 'done', letters });
    return 0;
  });

export const showDeployedLetters: Command = (call) =>
  withDeployment(call, async (o) => {
    const all = await lettersOf(o);
    const wanted = call.arguments.flags.get('letter');
    const letters = wanted === undefined ? all : wanted.map((id) => letterOf(all, id));
    for (const letter of letters) call.output.text(letterText(letter));
    call.output.object({ job: o.deployed.job, state: 'done', letters });
    return 0;
  });

function letterOf(all: readonly Fields[], id: string): Fields {
  const found = all.find(({ letter }) => letter === id);
  if (found !== undefined) return found;
  throw usageError(`there is no dead letter '${id}'`, { letter: id });
}

export const redriveDeployedLetters: Command = (call) => {
  const ids = call.arguments.flags.get('letter') ?? [];
  if ((ids.length === 0) !== call.arguments.flags.has('all'))
    throw usageError(`\`sluice ${call.shape.name}\` needs --letter, once for each, or --all`);
  return ask(call, { command: 'dead-letters redrive', letters: ids.length === 0 ? 'all' : ids }, (answer) => {
    for (const result of resultsOf(answer)) call.output.text(outcomeText(result));
    return answer.state === 'done' ? 0 : 1;
  });
};

export const listDeployedTransactions: Command = (call) =>
  ask(call, { command: 'transactions list' }, (answer) => {
    const all = (answer.transactions ?? []) as readonly Fields[];
    const head = ['transaction', 'sink', 'subtask', 'checkpoint', 'rows', 'state'];
    const rows = all.map((t) => [t.transaction, t.sink, t.subtask, t.checkpoint, t.rows ?? 'gone', t.state].map(String));
    call.output.text(rows.length === 0 ? 'no transaction is pending' : tableText(head, rows, [3, 4]));
    return 0;
  });

export const commitDeployedTransactions: Command = (call) => settle(call, 'commit');
export const abortDeployedTransactions: Command = (call) => settle(call, 'abort');

function settle(call: Call, how: 'commit' | 'abort'): Promise<number> {
  const names = call.arguments.flags.get('transaction') ?? [];
  if ((names.length === 0) !== call.arguments.flags.has('all'))
    throw usageError(`\`sluice ${call.shape.name}\` needs --transaction, once for each, or --all`);
  return ask(call, { command: `transactions ${how}`, names: names.length === 0 ? 'all' : names }, (answer) => {
    const before = new Set((answer.wereCommitted ?? []) as readonly unknown[]);
    for (const name of (answer.transactions ?? []) as readonly unknown[]) {
      const outcome = how === 'commit' ? 'is committed' : 'is aborted';
      call.output.text(`${name} ${before.has(name) ? 'was committed before, and stays so: its rows are visible' : outcome}`);
    }
    return answer.state === 'done' ? 0 : 1;
  });
}
