// How a topic is logged in to: as its mapping does, by what the stack was told. Mutual TLS is the mapping's alone; the construct refuses it.

import type { SaslOptions } from '@platformatic/kafka';
import { SluiceError } from '../../core/errors.ts';

export const topicAuths = ['none', 'tls', 'scram-512', 'scram-256', 'plain', 'iam'] as const;
/** `none`: plain text on the wire; all others are over TLS. */
export type TopicAuth = (typeof topicAuths)[number];

export interface TopicLogin {
  readonly auth: TopicAuth;
  /** Asked for each connection: a secret may have been changed, a token lives for minutes. */
  sasl(): Promise<SaslOptions | undefined>;
}

export function tlsOf(auth: TopicAuth): object | undefined {
  return auth === 'none' ? undefined : {};
}

const mechanisms = { 'scram-512': 'SCRAM-SHA-512', 'scram-256': 'SCRAM-SHA-256', plain: 'PLAIN' } as const;

/**
 * @param readSecret  the text of a secret: a JSON object with `username` and `password`, as mappings want it
 * @param token       of IAM
 */
export function loginOf(
  auth: TopicAuth,
  o: { readonly readSecret: () => Promise<string>; readonly token: () => Promise<string> },
): TopicLogin {
  if (auth === 'none' || auth === 'tls') return { auth, sasl: () => Promise.resolve(undefined) };
  if (auth === 'iam') return { auth, sasl: async () => ({ mechanism: 'OAUTHBEARER', token: await o.token() }) };
  return { auth, sasl: async () => ({ mechanism: mechanisms[auth], ...userOf(await o.readSecret()) }) };
}

/** Pure. @throws SluiceError `SETTING_INVALID`; the secret itself is in no message */
export function userOf(secret: string): { readonly username: string; readonly password: string } {
  const { username, password } = parsed(secret);
  if (typeof username === 'string' && typeof password === 'string') return { username, password };
  throw new SluiceError('SETTING_INVALID', {
    message: 'the secret of a topic is no JSON object with the texts username and password',
    next: 'fix-the-command',
    advice: 'store it as {"username": "…", "password": "…"}, as event source mappings want it',
  });
}

function parsed(text: string): { readonly username?: unknown; readonly password?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as object;
  } catch {
    return {};
  }
}
