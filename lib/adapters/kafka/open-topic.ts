import type { TopicTarget } from '../../api/targets.ts';
import { SluiceError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import { clientSettings } from '../aws/clients.ts';
import { errorOf } from '../aws/errors.ts';
import { iamToken } from './iam-token.ts';
import { loginOf, type TopicAuth, topicAuths } from './login.ts';
import { KafkaTopic } from './topic.ts';

/** As the variable `SLUICE_BIND` spells it. */
export interface BoundTopic {
  readonly [property: string]: unknown;
}

type Variables = Readonly<Record<string, string | undefined>>;

/** @throws SluiceError `SETTING_INVALID`; nothing is connected to yet */
export function openTopic(
  name: string,
  target: BoundTopic,
  { variables, clock }: { readonly variables: Variables; readonly clock: Clock },
): TopicTarget {
  const { auth = 'none', secret } = target;
  if (!isAuth(auth)) throw invalid(name, `has auth '${String(auth)}', which is none of ${topicAuths.join(', ')}`);
  const login = loginOf(auth, {
    readSecret: () => readSecret(text(name, secret, 'secret')),
    token: () => Promise.resolve(iamToken({ ...roleOf(variables), nowMs: clock.now() })),
  });
  return new KafkaTopic({ topic: text(name, target.topic, 'topic'), bootstrap: text(name, target.bootstrap, 'bootstrap'), login });
}

function isAuth(auth: unknown): auth is TopicAuth {
  return topicAuths.some((one) => one === auth);
}

/** Those of the function, which its environment has. */
function roleOf(variables: Variables): Pick<Parameters<typeof iamToken>[0], 'region' | 'credentials'> {
  const { AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN: sessionToken } = variables;
  if (AWS_REGION !== undefined && AWS_ACCESS_KEY_ID !== undefined && AWS_SECRET_ACCESS_KEY !== undefined)
    return {
      region: AWS_REGION,
      credentials: { accessKeyId: AWS_ACCESS_KEY_ID, secretAccessKey: AWS_SECRET_ACCESS_KEY, sessionToken },
    };
  throw new SluiceError('SETTING_INVALID', {
    message: 'a topic is logged in to with a role, and the environment has no AWS_REGION, AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY',
    next: 'fix-the-command',
  });
}

async function readSecret(arn: string): Promise<string> {
  try {
    const { GetSecretValueCommand, SecretsManagerClient } = await import('@aws-sdk/client-secrets-manager');
    const client = new SecretsManagerClient(clientSettings());
    const { SecretString: secret = '' } = await client.send(new GetSecretValueCommand({ SecretId: arn }));
    client.destroy();
    return secret;
  } catch (error) {
    throw errorOf(error, `secretsmanager:GetSecretValue of ${arn}`);
  }
}

function text(name: string, value: unknown, property: string): string {
  if (typeof value === 'string' && value !== '') return value;
  throw invalid(name, `has no ${property}`);
}

function invalid(name: string, why: string): SluiceError {
  return new SluiceError('SETTING_INVALID', {
    message: `SLUICE_BIND: '${name}' (kafka) ${why}`,
    next: 'fix-the-command',
    advice: 'deploy the stack again; its construct sets it',
  });
}
