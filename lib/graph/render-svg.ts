import { type Gaps, layOut, type Placed } from './layout.ts';
import type { ExchangeView, PlanView, StageView } from './plan-view.ts';
import { statesText } from './render-text.ts';

// render-svg.ts draws a plan: a box for each stage with its operators as lines, a curve for each exchange.

const gaps: Gaps = { layer: 120, box: 28, margin: 20 };
const lineHeight = 18;
const characterWidth = 7.3; // of the monospaced font at 12 px, rounded up
const padding = 12;

interface Line {
  readonly text: string;
  readonly style: 'stage' | 'operator' | 'state';
}

/** A plan as a picture that needs nothing but a browser. */
export function renderSvg(view: PlanView): string {
  const contents = view.stages.map(linesOf);
  const boxes = contents.map((lines) => ({
    width: Math.ceil(Math.max(...lines.map(({ text }) => text.length)) * characterWidth) + 2 * padding,
    height: lines.length * lineHeight + 2 * padding,
  }));
  const layout = layOut(
    boxes,
    view.exchanges.map(({ from, to }) => [from, to] as const),
    gaps,
  );
  const { width, height } = layout;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="img">`,
    `  <title>${escapeXml(`plan of ${view.job}`)}</title>`,
    '  <style>',
    '    text { font: 12px ui-monospace, Menlo, Consolas, monospace; fill: #1f2933; }',
    '    .stage { font-weight: bold; } .state, .exchange { fill: #52606d; font-size: 11px; }',
    '    .exchange { stroke: #ffffff; stroke-width: 4px; paint-order: stroke; stroke-linejoin: round; }', // readable on the line it names
    '    rect { fill: #f5f7fa; stroke: #7b8794; rx: 6px; } path { fill: none; stroke: #7b8794; stroke-width: 1.5; }',
    '  </style>',
    '  <defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto">',
    '    <path d="M0,0 L8,4 L0,8 z" style="fill: #7b8794; stroke: none"/></marker></defs>',
    `  <rect width="${width}" height="${height}" style="fill: #ffffff; stroke: none"/>`,
    ...view.exchanges.flatMap((exchange) => edge(exchange, view.exchanges, layout.boxes)),
    ...layout.boxes.flatMap((box, stage) => boxOf(box, contents[stage] as readonly Line[])),
    '</svg>',
    '',
  ].join('\n');
}

function linesOf(stage: StageView): readonly Line[] {
  const operators = stage.operators.flatMap((operator): readonly Line[] => {
    const call = operator.call === operator.uid ? '' : `  ${operator.call}`;
    const states = statesText(operator);
    return [
      { text: `${operator.uid}${call}`, style: 'operator' },
      ...(states === '' ? [] : [{ text: `  ${states}`, style: 'state' } as const]),
    ];
  });
  return [{ text: `stage ${stage.id}, parallelism ${stage.parallelism}`, style: 'stage' }, ...operators];
}

function boxOf({ x, y, width, height }: Placed, lines: readonly Line[]): readonly string[] {
  const texts = lines.map(({ text, style }, i) => {
    const baseline = y + padding + (i + 0.75) * lineHeight;
    return `  <text x="${x + padding}" y="${baseline}" class="${style}" xml:space="preserve">${escapeXml(text)}</text>`;
  });
  return [`  <rect x="${x}" y="${y}" width="${width}" height="${height}"/>`, ...texts];
}

/** A curve from the right side of one box to the left side of another; edges of one box are spread along its side. */
function edge(exchange: ExchangeView, all: readonly ExchangeView[], boxes: readonly Placed[]): readonly string[] {
  const from = boxes[exchange.from] as Placed;
  const to = boxes[exchange.to] as Placed;
  const leaving = all.filter((other) => other.from === exchange.from);
  const arriving = all.filter((other) => other.to === exchange.to);
  const x1 = from.x + from.width;
  const y1 = round(from.y + (from.height * (leaving.indexOf(exchange) + 1)) / (leaving.length + 1));
  const y2 = round(to.y + (to.height * (arriving.indexOf(exchange) + 1)) / (arriving.length + 1));
  const bend = gaps.layer / 2;
  const label = exchange.sideOutput === null ? exchange.partitioning : `${exchange.partitioning}: ${exchange.sideOutput}`;
  return [
    `  <path d="M${x1},${y1} C${x1 + bend},${y1} ${to.x - bend},${y2} ${to.x},${y2}" marker-end="url(#arrow)"/>`,
    `  <text x="${to.x - 10}" y="${y2 - 6}" class="exchange" text-anchor="end">${escapeXml(label)}</text>`,
  ];
}

function round(n: number): number {
  return Math.round(n * 10) / 10;
}

function escapeXml(text: string): string {
  return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}
