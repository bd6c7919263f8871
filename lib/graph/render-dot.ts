import type { PlanView, StageView } from './plan-view.ts';
import { statesText } from './render-text.ts';

/** A plan for Graphviz: a cluster for each stage, an edge for each chained pair and each exchange. */
export function renderDot(view: PlanView): string {
  const heads = new Map(view.stages.map(({ id, operators }) => [id, operators[0]?.uid ?? '']));
  const exchanges = view.exchanges.map(({ fromOperator, to, partitioning, sideOutput, input }) => {
    const label = [partitioning, ...(sideOutput === null ? [] : [`side: ${sideOutput}`]), ...(input === 1 ? ['input 2'] : [])].join('\n');
    return `  ${quote(fromOperator)} -> ${quote(heads.get(to) ?? '')} [label=${quote(label)}, style=bold];`;
  });
  return [
    `digraph ${quote(view.job)} {`,
    '  rankdir=LR;',
    '  graph [fontname="Helvetica"];',
    '  node [shape=box, style=rounded, fontname="Helvetica"];',
    '  edge [fontname="Helvetica", fontsize=10];',
    ...view.stages.flatMap(cluster),
    ...exchanges,
    '}',
    '',
  ].join('\n');
}

function cluster(stage: StageView): readonly string[] {
  const nodes = stage.operators.map((operator) => {
    const label = [
      operator.uid,
      ...(operator.call === operator.uid ? [] : [operator.call]),
      ...(operator.states.length === 0 ? [] : [statesText(operator)]),
    ];
    return `    ${quote(operator.uid)} [label=${quote(label.join('\n'))}];`;
  });
  const chains = stage.operators.flatMap(({ uid, feeds }) => feeds.map((fed) => `    ${quote(uid)} -> ${quote(fed)};`));
  return [
    `  subgraph cluster_${stage.id} {`,
    `    label=${quote(`stage ${stage.id}, parallelism ${stage.parallelism}`)};`,
    ...nodes,
    ...chains,
    '  }',
  ];
}

/** A quoted id: quotes and backslashes escaped, line ends as Graphviz writes them. */
function quote(text: string): string {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')}"`;
}
