import { checkpointText, type ExchangeView, type OperatorView, type PlanView, restartText, type StageView } from './plan-view.ts';

/** A plan as text: settings, then each stage with its operators, their states, and where its records go. */
export function renderText(view: PlanView): string {
  const lines = [
    `job          ${view.job}`,
    `plan         ${view.hash}`,
    `checkpoints  ${checkpointText(view.checkpoints)}`,
    `directory    ${view.checkpointsDirectory ?? 'chosen by the runtime'}`,
    `backend      ${view.backend}`,
    `restart      ${restartText(view.restart)}`,
    `guarantee    ${view.guarantee}`,
  ];
  for (const stage of view.stages) lines.push('', ...stageLines(stage, view));
  return `${lines.join('\n')}\n`;
}

function stageLines(stage: StageView, view: PlanView): readonly string[] {
  const uidColumns = Math.max(...stage.operators.map(({ uid }) => uid.length));
  const callColumns = Math.max(...stage.operators.map(({ call }) => call.length));
  const operators = stage.operators.map((operator, index) => {
    const previous = stage.operators[index - 1];
    const branch = previous === undefined || previous.feeds.includes(operator.uid) ? '' : `reads ${readBy(operator, stage)}`;
    const columns = [operator.uid.padEnd(uidColumns), operator.call.padEnd(callColumns), statesText(operator), branch];
    return `  ${columns
      .filter((column) => column !== '')
      .join('  ')
      .trimEnd()}`;
  });
  const outlets = view.exchanges
    .filter(({ from }) => from === stage.id)
    .map((exchange) => `  → stage ${exchange.to}  ${exchangeText(exchange)}`);
  return [`stage ${stage.id}  parallelism ${stage.parallelism} of ${stage.maxParallelism}`, ...operators, ...outlets];
}

function readBy(operator: OperatorView, stage: StageView): string {
  return stage.operators
    .filter(({ feeds }) => feeds.includes(operator.uid))
    .map(({ uid }) => uid)
    .join(', ');
}

/** Such as `keyed: last value, seen list v2`. */
export function statesText({ states }: OperatorView): string {
  const scopes = (['keyed', 'broadcast'] as const).flatMap((scope) => {
    const own = states.filter((state) => state.scope === scope);
    const list = own.map(({ name, kind, version }) => `${name} ${kind}${version === 0 ? '' : ` v${version}`}`).join(', ');
    return own.length === 0 ? [] : [`${scope}: ${list}`];
  });
  return scopes.join('; ');
}

/** Such as `hash`, or `rebalance, side output late, from parse, input 2`. */
export function exchangeText({ partitioning, sideOutput, fromOperator, input }: ExchangeView): string {
  const parts: string[] = [partitioning];
  if (sideOutput !== null) parts.push(`side output ${sideOutput}`);
  parts.push(`from ${fromOperator}`);
  if (input === 1) parts.push('input 2');
  return parts.join(', ');
}
