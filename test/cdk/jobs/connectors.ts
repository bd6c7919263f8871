// Sources and a sink that are bound outside the job and do nothing: what a template is made from is their names alone.
import type { BindingKind, Sink, Source } from 'sluice';

export interface Click {
  readonly user: string;
  readonly url: string;
}

export function stream<T>(name: string): Source<T> {
  return {
    kind: 'kinesis',
    isRereadable: true,
    isBounded: false,
    isEager: true,
    enumerate: () => Promise.resolve([{ id: 'shard-0' }]),
    open: () => {
      throw new Error('nothing reads here');
    },
    binding: { name, kinds: ['kinesis'] },
  };
}

export function queue<T>(name: string, order: 'fifo' | 'standard', retentionMs: number = 4 * 86_400_000): Source<T> {
  return {
    ...stream<T>(name),
    kind: 'sqs',
    isRereadable: false,
    queue: { order, lanes: 2, retentionMs, read: () => undefined },
    binding: { name, kinds: ['sqs'] },
  };
}

export function sinkTo<T>(name: string, kinds: readonly BindingKind[] = ['dynamodb']): Sink<T> {
  return {
    kind: 'boundSink',
    binding: { name, kinds },
    detached: { kind: 'immediate', write: () => undefined },
    recover: () => undefined,
    createWriter: () => {
      throw new Error('nothing writes here');
    },
  };
}
