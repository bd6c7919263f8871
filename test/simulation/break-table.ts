// The table of docs/mutations.md: what each model breaks, which mutation of the product is its twin, and what notices that one.

import { listedBreaks, standIns } from './model-breaks.ts';
import { type Simulation, simulations } from './mutation-lists.ts';

export function breakTable(): readonly string[] {
  const rows = listedBreaks.map(({ name, does }) => {
    const stand = standIns[name];
    const twin = stand === undefined ? name : stand.mutation;
    const noticed = twin === undefined ? stand!.why : simulations.flatMap((simulation) => noticedBy(simulation, twin)).join('; ');
    return `| ${name} | ${does} | ${twin === undefined || twin === name ? '' : twin} | ${noticed} |`;
  });
  return ['| break | the model … | twin | noticed by |', '|---|---|---|---|', ...rows];
}

function noticedBy({ of, mutations, seeds, reasons }: Simulation, name: string): readonly string[] {
  if (!mutations.some((m) => m.name === name)) return [];
  if (seeds[name] !== undefined) return [`${of}, seed ${seeds[name]}`];
  const caughtBy = reasons[name]?.caughtBy;
  if (caughtBy === undefined) return [`${of}: open`];
  // The twin of the other simulation speaks for itself.
  if ('of' in caughtBy) return caughtBy.rule === name ? [] : [`${caughtBy.of}: ${caughtBy.rule}`];
  return [`\`${caughtBy.file}\``];
}
