// Which names a job uses, and whether what was given fits them. Pure.
//   B1  Every name of the job is bound, and nothing else is: a name that is wrong by a letter is told with the one that was meant.
//   B2  A source is called by a mapping. What no mapping can call is refused, because nothing would ever read it.
//   B3  The order in which a queue delivers is that which the job was written for.

import type { BindingKind } from '../api/binding.ts';
import type { QueueDelivery } from '../api/source.ts';
import { SluiceError } from '../core/errors.ts';
import { nearest } from '../core/suggest.ts';
import type { Plan, PlannedOperator, Stage } from '../graph/plan.ts';

/** A source or sink of the plan that is bound to something. */
export interface WantedBinding {
  readonly name: string;
  readonly kinds: readonly BindingKind[];
  readonly role: 'source' | 'sink';
  readonly stage: Stage;
  readonly operator: PlannedOperator;
  /** Of a source that is a queue. */
  readonly queue: QueueDelivery<unknown> | undefined;
}

/** @throws SluiceError `BIND_UNFIT` naming a source that no mapping can call */
export function wantedBindings(plan: Plan): readonly WantedBinding[] {
  return plan.stages.flatMap((stage) =>
    stage.operators.flatMap((operator): readonly WantedBinding[] => {
      const spec = operator.node.operator;
      if (spec.kind === 'source') {
        const { binding, kind, queue } = spec.source;
        if (binding === undefined) throw notCallable(operator.uid, kind);
        return [{ ...binding, role: 'source', stage, operator, queue }];
      }
      if (spec.kind !== 'sink' || spec.binding === undefined) return [];
      return [{ ...spec.binding, role: 'sink', stage, operator, queue: undefined }];
    }),
  );
}

/** @throws SluiceError `BIND_UNKNOWN`, `BIND_MISSING` with the nearest name */
export function checkNames(wanted: readonly Pick<WantedBinding, 'name' | 'role' | 'kinds' | 'operator'>[], given: readonly string[]): void {
  const names = new Set(wanted.map(({ name }) => name));
  for (const name of given) {
    if (names.has(name)) continue;
    throw new SluiceError('BIND_UNKNOWN', {
      message: `bind names '${name}', and the job has no source or sink of that name${hint(nearest(name, names), names)}`,
      next: 'fix-the-job',
      name,
    });
  }
  for (const { name, role, kinds, operator } of wanted) {
    if (given.includes(name)) continue;
    throw new SluiceError('BIND_MISSING', {
      message: `the job's ${role} '${name}' is bound to nothing`,
      next: 'fix-the-job',
      advice: `give SluiceJob bind: { ${name}: … } with ${kinds.map(nameOf).join(' or ')}`,
      operator: operator.uid,
    });
  }
}

/** @throws SluiceError `BIND_UNFIT` */
export function checkKind(wanted: WantedBinding, given: { readonly kind: BindingKind; readonly isFifo: boolean }): void {
  const { name, role, kinds, queue, operator } = wanted;
  const place = { next: 'fix-the-job', operator: operator.uid } as const;
  if (!kinds.includes(given.kind)) {
    const wants = kinds.map(nameOf).join(' or ');
    throw new SluiceError('BIND_UNFIT', {
      message: `the job's ${role} '${name}' is ${wants}, and it is bound to ${nameOf(given.kind)}`,
      ...place,
    });
  }
  if (queue === undefined || given.kind !== 'sqs' || (queue.order === 'fifo') === given.isFifo) return;
  const [wants, has] = given.isFifo ? ['a standard queue', 'a FIFO queue'] : ['a FIFO queue', 'a standard queue'];
  throw new SluiceError('BIND_UNFIT', {
    message: `the job's source '${name}' was written for ${wants}, and it is bound to ${has}`,
    ...place,
  });
}

const names: Readonly<Record<BindingKind, string>> = {
  kinesis: 'a Kinesis stream',
  sqs: 'an SQS queue',
  dynamodb: 'a DynamoDB table',
  s3: 'an S3 bucket',
  kafka: 'a Kafka topic',
};

function nameOf(kind: BindingKind): string {
  return names[kind];
}

function hint(meant: string | undefined, all: ReadonlySet<string>): string {
  if (meant !== undefined) return `; did you mean '${meant}'?`;
  return all.size === 0 ? '' : `; it has ${[...all].join(', ')}`;
}

function notCallable(uid: string, kind: string): SluiceError {
  return new SluiceError('BIND_UNFIT', {
    message: `source '${uid}' (${kind}) is read by a process, and on AWS nothing would read it`,
    next: 'fix-the-job',
    advice: 'read a stream or a queue, or run the job with `sluice run`',
    operator: uid,
  });
}
