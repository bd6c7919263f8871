// The ports of one process on a fake service. Each method is one request: what it asks is copied when it is made, and `call` decides when the
// service does it, once, twice, late or never, and whether the process hears of it.

import type { InvocationPorts, OutgoingMessage, StatePut, StoredEntry } from '../../invocation/ports.ts';
import { copyOf } from './fake-hooks.ts';
import type { FakeService } from './fake-service.ts';

/**
 * @param method  as `changelog.put`
 * @param place  what it is about, for traces: a ring, a name, the first of a batch
 * @param effect  does the whole of it at once, and throws what the service refuses with
 */
export type FakeCall = <T>(method: string, place: string, effect: () => T) => Promise<T>;

/** A service that answers at once. */
export const promptCall: FakeCall = async (_method, _place, effect) => effect();

const entryOf = (e: StoredEntry): StoredEntry => ({ ...e, bytes: copyOf(e.bytes) });
const putOf = (p: StatePut): StatePut => ({ ...p, bytes: copyOf(p.bytes) });
const messageOf = (m: OutgoingMessage): OutgoingMessage => ({ ...m, bytes: copyOf(m.bytes) });

export function fakePorts(service: FakeService, call: FakeCall = promptCall): InvocationPorts {
  return { ...logAndTable(service, call), ...itemsAndObjects(service, call), exchange: exchange(service, call) };
}

function logAndTable({ changelog, table }: FakeService, call: FakeCall): Pick<InvocationPorts, 'changelog' | 'table'> {
  return {
    changelog: {
      put: (p) => {
        const asked = { ...p, entry: entryOf(p.entry) };
        return call('changelog.put', `${p.ring.generation}/${p.ring.subtask} ${p.entry.n}`, () => changelog.put(asked));
      },
      get: (p) => call('changelog.get', `${p.ring.generation}/${p.ring.subtask} slot ${p.slot}`, () => changelog.get(p)),
      readPage: (p) => call('changelog.readPage', `${p.ring.generation}/${p.ring.subtask} from ${p.from}`, () => changelog.readPage(p)),
      putDuring: (p) => {
        const asked = { ...p, entry: entryOf(p.entry) };
        return call('changelog.putDuring', `${p.ring.generation}/${p.ring.subtask} ${p.entry.n}`, () => changelog.putDuring(asked));
      },
      create: (p) => {
        const asked = { ...p, entry: entryOf(p.entry) };
        return call('changelog.create', `${p.ring.generation}/${p.ring.subtask} ${p.entry.n}`, () => changelog.create(asked));
      },
      overwrite: (p) => {
        const asked = { ...p, entry: entryOf(p.entry) };
        return call('changelog.overwrite', `${p.ring.generation}/${p.ring.subtask} slot ${p.slot}`, () => changelog.overwrite(asked));
      },
      remove: (ring) => call('changelog.remove', `${ring.generation}/${ring.subtask}`, () => changelog.remove(ring)),
    },
    table: {
      readMany: (addresses) => {
        const asked = [...addresses];
        return call('table.readMany', `${asked.length} from ${asked[0]?.partition ?? ''}`, () => table.readMany(asked));
      },
      readPartition: (p) => call('table.readPartition', p.partition, () => table.readPartition(p)),
      putMany: (puts) => {
        const asked = puts.map(putOf);
        return call('table.putMany', `${asked.length} from ${asked[0]?.address.partition ?? ''}`, () => table.putMany(asked));
      },
    },
  };
}

function itemsAndObjects({ items, objects }: FakeService, call: FakeCall): Pick<InvocationPorts, 'items' | 'objects'> {
  return {
    items: {
      get: (name) => call('items.get', name, () => items.get(name)),
      put: (p) => {
        const asked = { ...p, content: { ...p.content, bytes: copyOf(p.content.bytes) } };
        return call('items.put', p.name, () => items.put(asked));
      },
      list: (prefix) => call('items.list', prefix, () => items.list(prefix)),
      remove: (p) => call('items.remove', p.name, () => items.remove(p)),
    },
    objects: {
      putIfAbsent: (name, bytes) => {
        const asked = copyOf(bytes);
        return call('objects.putIfAbsent', name, () => objects.putIfAbsent(name, asked));
      },
      get: (name) => call('objects.get', name, () => objects.get(name)),
      remove: (name) => call('objects.remove', name, () => objects.remove(name)),
      list: (prefix) => call('objects.list', prefix, () => objects.list(prefix)),
    },
  };
}

function exchange(service: FakeService, call: FakeCall): InvocationPorts['exchange'] {
  const queue = service.exchange;
  return {
    send: (messages) => {
      const asked = messages.map(messageOf);
      return call('exchange.send', `${asked.length} to ${asked[0]?.group ?? ''}`, () => queue.send(asked));
    },
    receive: (p) => call('exchange.receive', `${p.max}`, () => queue.receive(p)),
    settle: (receipts) => {
      const asked = [...receipts];
      return call('exchange.settle', asked.join(' '), () => queue.settle(asked));
    },
    release: (p) => {
      const asked = { receipts: [...p.receipts], delayMs: p.delayMs };
      return call('exchange.release', asked.receipts.join(' '), () => queue.release(asked));
    },
  };
}
