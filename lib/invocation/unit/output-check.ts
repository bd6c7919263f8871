// Tells at once whether what the operators passed on, or counted, can be stored. Done after each record and each timer of a careful run: found out at the end of the
// unit, nobody could say whose output it was, and a timer has nothing that could be cut in half.

import type { OperatorHost } from '../../runtime/host.ts';
import { encodeRows } from '../rows-codec.ts';

/** @returns looks at what has come since its last call; it throws `VALUE_NOT_ENCODABLE` naming the path in the value */
export function checkOfOutput(host: Pick<OperatorHost, 'effects' | 'accumulators'>): () => void {
  let emissions = 0;
  let sinkRows = 0;
  return () => {
    const { effects } = host;
    for (; emissions < effects.emissions.length; emissions++) {
      const { element } = effects.emissions[emissions]!;
      if (element.kind === 'records') encodeRows(element.batch);
    }
    for (; sinkRows < effects.sinkRows.length; sinkRows++) encodeRows(effects.sinkRows[sinkRows]!.rows);
    for (const own of host.accumulators) own.snapshot();
  };
}
