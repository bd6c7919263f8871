// What a world was drawn as, for whoever reads its trace.

import type { Rates } from './chaos.ts';
import type { Setting } from './random-job.ts';

export function tellSetting(setting: Setting, rates: Rates): readonly string[] {
  const { spec, limits, ringSlots, mayRewind } = setting;
  return [
    `${spec.checkpoints.mode}, interval ${spec.checkpoints.intervalMs}, time-out ${spec.checkpoints.timeoutMs}, ring of ${ringSlots}, ${setting.isFinite ? 'finite' : 'endless'}${mayRewind ? ', rewinds' : ''}`,
    JSON.stringify(limits),
    JSON.stringify(rates),
    ...spec.nodes.map((n) => {
      const op = n.op.kind === 'source' ? `source ${n.op.source.splits.map((s) => s.rows.length).join('+')}` : JSON.stringify(n.op);
      return `${n.uid} p=${n.parallelism} ← ${n.inputs.map((i) => `${spec.nodes[i.node]!.uid}${i.isSide ? '!' : ''}`).join(', ') || 'nothing'}: ${op}`;
    }),
  ];
}
