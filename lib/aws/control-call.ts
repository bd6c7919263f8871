// How the coordinator's calls travel: the invocation in the runtime's own encoding, as text. The answer likewise.
import { decodeValue, encodeValue } from '../core/value-codec.ts';
import type { Answer, Invocation } from '../invocation/invocation.ts';

export interface ControlEvent {
  readonly invocation: string;
}

export interface ControlAnswer {
  readonly answer: string;
}

function textOf(value: unknown): string {
  const bytes = encodeValue(value);
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

function valueIn(text: string): unknown {
  return decodeValue(Buffer.from(text, 'base64'));
}

export const controlEvent = (invocation: Invocation): ControlEvent => ({ invocation: textOf(invocation) });
export const invocationOf = ({ invocation }: ControlEvent): Invocation => valueIn(invocation) as Invocation;
export const controlAnswer = (answer: Answer): ControlAnswer => ({ answer: textOf(answer) });
export const answerOfControl = ({ answer }: ControlAnswer): Answer => valueIn(answer) as Answer;

export function isControlEvent(event: unknown): event is ControlEvent {
  return typeof event === 'object' && event !== null && 'invocation' in event && typeof event.invocation === 'string';
}
