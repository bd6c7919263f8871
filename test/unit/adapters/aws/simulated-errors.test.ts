// The errors of the simulation, row by row: the clients do throw them, from the bytes that services send, and the adapters' table says of them what
// the simulation does.
import { describe, expect, test } from 'vitest';
import type { InvocationPorts } from '../../../../lib/invocation/ports.ts';
import {
  errorKinds,
  type Said,
  type Service,
  type SimulatedError,
  simulatedErrors,
  translated,
} from '../../../invocation-simulation/service-errors.ts';
import { type Answer, jsonError, ok, scripted, xmlError } from './scripted.ts';

const codes: Readonly<Record<Said, string>> = { nothing: 'STORE_THROTTLED', unknown: 'STORE_UNCERTAIN' };

type Row = readonly [service: Service, said: Said, error: SimulatedError];
const rows = Object.entries(simulatedErrors).flatMap(([service, bySaid]) =>
  Object.entries(bySaid).flatMap(([said, errors]) => errors.map((error): Row => [service as Service, said as Said, error])),
);

describe('an error of the simulation', () => {
  test.each(rows)('of %s that says %s is told so: %o', (_, said, error) => {
    expect(translated(error, 'a request')).toMatchObject({ code: codes[said], message: expect.stringContaining(error.name) });
  });

  test('is of every kind that there is', () => {
    expect([...new Set(rows.map(([, , { kind }]) => kind))].sort()).toEqual([...errorKinds].sort());
  });
});

const entry = { n: 0, writer: 'w', bytes: new Uint8Array(1) };
const ring = { generation: 0, subtask: '1-0' };
const message = (id: string, group = '1-0') => ({ group, id, bytes: new Uint8Array(1) });
const requests: Readonly<Record<Service, (ports: InvocationPorts) => Promise<unknown>>> = {
  dynamodb: ({ changelog }) => changelog.put({ ring, slot: 0, entry, expects: 'absent' }),
  s3: ({ objects }) => objects.putIfAbsent('chk/1', new Uint8Array(1)),
  sqs: ({ exchange }) => exchange.send([message('a')]),
};

function answerOf(service: Service, { name, status = 500 }: SimulatedError): Answer {
  if (name === 'SyntaxError') return { status, body: '{"Item": {' };
  if (name === 'UnknownError' || name === 'ServiceUnavailable') return { status, body: '' }; // a load balancer, which knows no words of a service
  if (service === 's3') return xmlError(status, name);
  return jsonError(service === 'sqs' ? 'sqs' : 'dynamodb.v20120810', name, { status });
}

const answered = rows.filter(([, , { status, at }]) => status !== undefined && at === undefined);

test.each(answered)('%s: what a service sends as %s comes out of the client and the table as that: %o', async (service, said, error) => {
  const { ports, asked } = scripted(answerOf(service, error));
  await expect(requests[service](ports)).rejects.toMatchObject({ code: codes[said] });
  expect(asked.length, 'the client itself asks once').toBe(1);
});

describe('an error inside an answer that is a success', () => {
  const reject = async (request: Promise<unknown>, said: Said): Promise<void> => {
    await expect(request).rejects.toMatchObject({ code: codes[said] });
  };

  test('of a transaction: its reasons', async () => {
    const cancelled = jsonError('dynamodb.v20120810', 'TransactionCanceledException', {
      CancellationReasons: [{ Code: 'TransactionConflict' }, { Code: 'None' }],
    });
    await reject(scripted(cancelled).ports.changelog.putDuring({ ring, slot: 0, entry, expects: 0, change: 'stop 0' }), 'nothing');
  });

  test('of one statement of a batch: refused it is left, unknown it is looked at again', async () => {
    const put = { address: { partition: 'p', sort: 's' }, tags: 't', bytes: new Uint8Array(1), expects: 'absent' as const };
    const said = (code: string): Answer => ok({ Responses: [{ Error: { Code: code, Message: code } }] });
    expect(await scripted(said('ThrottlingError')).ports.table.putMany([put])).toEqual(['left']);
    expect(await scripted(said('InternalServerError')).ports.table.putMany([put])).toEqual(['conflict']);
  });

  test('of one message of a batch', async () => {
    const failed = ok({ Failed: [{ Id: '0', Code: 'InternalError', SenderFault: false }], Successful: [] });
    await reject(scripted(failed).ports.exchange.settle(['1 receipt']), 'unknown');
  });

  test('of a later request, when an earlier one of the same call was answered', async () => {
    const throttled = jsonError('sqs', 'ThrottlingException');
    await reject(scripted(ok({ Successful: [{ Id: '0' }] }), throttled).ports.exchange.settle(['1 one', '2 two']), 'unknown');
  });
});
