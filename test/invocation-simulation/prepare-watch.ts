// Who asks a target to prepare what is decided. A deliverer looks before it does (S1 and S2 of prepare-transaction.ts), so the decision can only have
// fallen since its look; who has not looked may be asking a target that has forgotten the name.

import type { TransactionId } from '../../lib/index.ts';
import { subtaskNumber } from '../../lib/invocation/sinks/transaction-names.ts';
import type { FakeService, SimulatedProcess } from '../../lib/testing/index.ts';

const prefix = 'decided/';

export class PrepareWatch {
  readonly #decided = new Set<string>();
  /** `<process> <transaction>` of a look that found no decision. */
  readonly #looks = new Set<string>();

  constructor(service: FakeService) {
    service.observers.push((change) => {
      if (change.kind === 'object' && change.name.startsWith(prefix)) this.#decided.add(keyOfDecision(change.name));
    });
  }

  /** A process has read an object. */
  read(process: SimulatedProcess, name: string, found: unknown): void {
    if (name.startsWith(prefix) && found === undefined) this.#looks.add(`${process.name} ${keyOfDecision(name)}`);
  }

  /** @returns what is wrong with it; whoever settles a transaction has decided it before, and may prepare it then */
  prepared(process: SimulatedProcess, { uid, generation, subtask, checkpoint }: TransactionId): string | undefined {
    const key = keyOf(generation, subtask, uid, checkpoint);
    if (!process.name.startsWith('env-') || !this.#decided.has(key) || this.#looks.has(`${process.name} ${key}`)) return undefined;
    return `transaction ${key} is decided, and ${process.name} prepares it without having looked`;
  }
}

function keyOfDecision(name: string): string {
  const [generation, subtask, uid, opened] = name.slice(prefix.length).split('/');
  return keyOf(Number(generation), subtaskNumber(subtask!), uid!, Number(opened));
}

function keyOf(generation: number, subtask: number, uid: string, opened: number): string {
  return [generation, subtask, uid, opened].join('/');
}
