import type { Plan } from './plan.ts';
import { viewOf } from './plan-view.ts';
import { renderDot } from './render-dot.ts';
import { renderSvg } from './render-svg.ts';
import { renderText } from './render-text.ts';

export type PlanFormat = 'text' | 'json' | 'dot' | 'svg';

/**
 * A plan for a reader. The same plan gives the same text.
 * @param format  `text` for people, `json` for programs, `dot` for Graphviz, `svg` for a browser
 */
export function renderPlan(plan: Plan, format: PlanFormat): string {
  const view = viewOf(plan);
  switch (format) {
    case 'text':
      return renderText(view);
    case 'json':
      return `${JSON.stringify(view, undefined, 2)}\n`;
    case 'dot':
      return renderDot(view);
    case 'svg':
      return renderSvg(view);
  }
}
