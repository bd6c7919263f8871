import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { errorCodes } from '../../../lib/core/error-codes.ts';

const lib = join(import.meta.dirname, '../../../lib');
/** Words of the API, of Node, of AWS and of Kafka's protocol and client that are spelt like codes. */
const otherWords =
  /^(EXACTLY_ONCE|AT_(LEAST|MOST)_ONCE|(RETAIN|DELETE)_ON_CANCELLATION|NO_EXTERNALIZED_CHECKPOINTS|SLUICE_.*|ERR_.*|MODULE_NOT_FOUND|ALL_OLD|UPDATED_NEW|TRIM_HORIZON|UPDATE_ROLLBACK_IN_PROGRESS|AT_SEQUENCE_NUMBER|(NODEJS|ARM|X86)_[0-9X_]+|PLT_KFK_.*|(CLUSTER|GROUP|TOPIC)_AUTHORIZATION_FAILED|SASL_AUTHENTICATION_FAILED|(ILLEGAL|UNSUPPORTED)_SASL_.*|INVALID_TOPIC_EXCEPTION|UNKNOWN_TOPIC_(ID|OR_PARTITION))$/;

const sources = readdirSync(lib, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts') && !path.endsWith('error-codes.ts'))
  .map((path) => readFileSync(join(lib, path), 'utf8'));
const used = new Set(
  sources.flatMap((text) => [...text.matchAll(/'([A-Z]+(?:_[A-Z]+)+)'/g)].map((m) => m[1]!)).filter((word) => !otherWords.test(word)),
);

test('every code that lib/ spells is in the catalogue, and the catalogue has no other', () => {
  expect({ missing: [...used].filter((code) => !Object.hasOwn(errorCodes, code)).sort() }).toEqual({ missing: [] });
  expect({ unused: Object.keys(errorCodes).filter((code) => !used.has(code)) }).toEqual({ unused: [] });
});
