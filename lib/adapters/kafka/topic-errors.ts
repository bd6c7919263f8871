// What an error of the client of a topic means. Reading changes nothing, so that everything that may pass is asked again.

import { SluiceError } from '../../core/errors.ts';

interface ClientError {
  readonly message?: string;
  /** The protocol's name for it, such as `TOPIC_AUTHORIZATION_FAILED`. */
  readonly apiId?: string | null;
  readonly code?: string;
  readonly errors?: readonly unknown[];
  readonly cause?: unknown;
}

export const topicMeanings: ReadonlyMap<string, 'forbidden' | 'missing'> = new Map([
  ['TOPIC_AUTHORIZATION_FAILED', 'forbidden'],
  ['GROUP_AUTHORIZATION_FAILED', 'forbidden'],
  ['CLUSTER_AUTHORIZATION_FAILED', 'forbidden'],
  ['SASL_AUTHENTICATION_FAILED', 'forbidden'],
  ['UNSUPPORTED_SASL_MECHANISM', 'forbidden'],
  ['ILLEGAL_SASL_STATE', 'forbidden'],
  ['PLT_KFK_AUTHENTICATION', 'forbidden'],
  ['UNKNOWN_TOPIC_OR_PARTITION', 'missing'],
  ['UNKNOWN_TOPIC_ID', 'missing'],
  ['INVALID_TOPIC_EXCEPTION', 'missing'],
]);

/** The client looks a topic up before it asks for it, and then has no name for what brokers call UNKNOWN_TOPIC_OR_PARTITION. */
const clientsOwn = { code: 'PLT_KFK_USER', begins: 'Unknown topic ' } as const;

/** Pure. */
export function topicError(error: unknown, what: string): SluiceError {
  if (error instanceof SluiceError) return error;
  const names = namesOf(error);
  const known = names.find((name) => topicMeanings.has(name));
  const message = `${what}: ${[...new Set(names)].join(', ')}: ${(error as ClientError | undefined)?.message ?? String(error)}`;
  switch (known === undefined ? undefined : topicMeanings.get(known)) {
    case 'forbidden':
      return new SluiceError('STORE_FORBIDDEN', {
        message,
        next: 'fix-the-command',
        advice: 'let the user that the topic is bound with read and describe it; nothing is lost, the input stays where it is until then',
        cause: error,
      });
    case 'missing':
      return new SluiceError('STORE_MISSING', {
        message,
        next: 'fix-the-command',
        advice: 'bind the name to a topic that exists',
        cause: error,
      });
    default:
      return new SluiceError('STORE_UNCERTAIN', { message, next: 'retry-invocation', cause: error });
  }
}

/** Of the error and of those within it, the innermost last. */
function namesOf(error: unknown, depth = 0): readonly string[] {
  if (typeof error !== 'object' || error === null || depth > 6) return [];
  const { apiId, code, message, errors = [], cause } = error as ClientError;
  const isUnknown = code === clientsOwn.code && message?.startsWith(clientsOwn.begins) === true;
  const own = [apiId, isUnknown ? 'UNKNOWN_TOPIC_OR_PARTITION' : code].filter((name) => typeof name === 'string');
  return [...own, ...[...errors, cause].flatMap((inner) => namesOf(inner, depth + 1))];
}
