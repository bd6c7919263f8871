// The outputs of a stack are the map by which the command line finds a job (docs/decisions/007).
//   O1  A stack may hold several jobs: what stands before `Sluice` in the names of their outputs tells them apart.
//   O2  A value is short. A map that grows with the job goes on in outputs of the same name with a number behind it: `SluiceQueues`, `SluiceQueues2`.

import { CfnOutput, Stack } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { outputEntriesMax } from './defaults.ts';

/** Letters and digits of the construct's place in its stack. */
export function prefixOf(scope: Construct): string {
  const below = scope.node.scopes.slice(Stack.of(scope).node.scopes.length);
  return below.map(({ node }) => node.id.replace(/[^A-Za-z0-9]/g, '')).join('');
}

export class JobOutputs {
  readonly #scope: Construct;
  readonly #prefix: string;

  constructor(scope: Construct) {
    this.#scope = scope;
    this.#prefix = prefixOf(scope);
  }

  text(name: string, value: string): void {
    const output = new CfnOutput(this.#scope, `Output${name}`, { value });
    output.overrideLogicalId(`${this.#prefix}Sluice${name}`);
  }

  /** JSON of an object, in as many outputs as it takes; at least one. */
  map(name: string, entries: readonly (readonly [string, unknown])[]): void {
    this.#parts(name, entries, (part) => Object.fromEntries(part));
  }

  /** JSON of a list. */
  list(name: string, items: readonly unknown[]): void {
    this.#parts(name, items, (part) => [...part]);
  }

  #parts<T>(name: string, all: readonly T[], shape: (part: readonly T[]) => unknown): void {
    const count = Math.max(1, Math.ceil(all.length / outputEntriesMax));
    for (let i = 0; i < count; i++) {
      const part = all.slice(i * outputEntriesMax, (i + 1) * outputEntriesMax);
      this.text(i === 0 ? name : `${name}${i + 1}`, Stack.of(this.#scope).toJsonString(shape(part)));
    }
  }
}
