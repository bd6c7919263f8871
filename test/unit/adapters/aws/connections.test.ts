// What becomes of a request whose connection fails: on real sockets, since it is the client's time-outs and Node's errors that are under test.
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { closeClients, createClients } from '../../../../lib/adapters/aws/clients.ts';
import type { InvocationPorts } from '../../../../lib/invocation/ports.ts';
import { portsOf } from './scripted.ts';

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
  vi.unstubAllEnvs();
});

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function portsAt(endpoint: string, requestMs = 60_000): InvocationPorts {
  vi.stubEnv('AWS_ACCESS_KEY_ID', 'key');
  vi.stubEnv('AWS_SECRET_ACCESS_KEY', 'secret');
  vi.stubEnv('AWS_REGION', 'us-east-1');
  vi.stubEnv('AWS_MAX_ATTEMPTS', '7'); // tries are the runtime's, whatever the environment says
  const clients = createClients({ endpoint, requestMs });
  ends.push(() => closeClients(clients));
  return portsOf(clients);
}

/** A service that does this with a request which it has read to its end. */
async function service(
  answer: (socket: Socket, asked: number) => void,
): Promise<{ readonly endpoint: string; readonly asked: () => number }> {
  let asked = 0;
  const server = createServer((request) => {
    request.resume().once('end', () => answer(request.socket, ++asked));
  });
  const endpoint = await listening(server);
  ends.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint, asked: () => asked };
}

const requests: readonly (readonly [string, (ports: InvocationPorts) => Promise<unknown>])[] = [
  ['DynamoDB', ({ items }) => items.put({ name: 'a', content: { bytes: new Uint8Array(1), change: '' }, expects: 'any' })],
  ['S3', ({ objects }) => objects.putIfAbsent('a', new Uint8Array(1))],
  ['SQS', ({ exchange }) => exchange.send([{ group: '1-0', id: 'a', bytes: new Uint8Array(1) }])],
];

test.each(requests)('%s: no answer within the time of a request is an outcome that nobody knows, and is asked once', async (_, request) => {
  const silent = await service(() => undefined);
  await expect(request(portsAt(silent.endpoint, 100))).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
  expect(silent.asked()).toBe(1);
});

test.each(requests)(
  '%s: a connection that breaks after the request was read is an outcome that nobody knows, and is asked once',
  async (_, request) => {
    const breaking = await service((socket) => socket.destroy());
    await expect(request(portsAt(breaking.endpoint))).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
    expect(breaking.asked()).toBe(1);
  },
);

test('a connection that was kept and has died meanwhile is an outcome that nobody knows; the next request opens another', async () => {
  const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}';
  const tired = await service((socket, asked) => (asked === 2 ? socket.destroy() : socket.write(answer)));
  const { changelog } = portsAt(tired.endpoint);
  const get = (): Promise<unknown> => changelog.get({ ring: { generation: 0, subtask: '1-0' }, slot: 0 });
  expect(await get()).toBeUndefined();
  await expect(get()).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
  expect(await get()).toBeUndefined();
});

test('an object that breaks off is never taken for the whole', async () => {
  const torn = await service((socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf');
    socket.end();
  });
  await expect(portsAt(torn.endpoint).objects.get('a')).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
});

test('nobody listening is an outcome that nobody knows', async () => {
  const server = createServer();
  const endpoint = await listening(server);
  await new Promise((resolve) => server.close(resolve));
  for (const [, request] of requests) await expect(request(portsAt(endpoint))).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
});

test('a role without credentials is told so, and nothing was asked', async () => {
  const idle = await service(() => undefined);
  const ports = portsAt(idle.endpoint);
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_PROFILE']) vi.stubEnv(name, undefined);
  vi.stubEnv('AWS_EC2_METADATA_DISABLED', 'true');
  vi.stubEnv('HOME', '/nonexistent');
  await expect(ports.objects.get('a')).rejects.toMatchObject({ code: 'STORE_FORBIDDEN' });
  expect(idle.asked()).toBe(0);
});
