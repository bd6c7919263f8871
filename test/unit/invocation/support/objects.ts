import type { ObjectStore } from '../../../../lib/invocation/ports.ts';

/** An object store that holds these objects. */
export function objectsOf(held: Readonly<Record<string, Uint8Array>>): ObjectStore {
  const objects = new Map(Object.entries(held));
  return {
    putIfAbsent: async (name, bytes) => {
      if (objects.has(name)) return 'exists';
      objects.set(name, bytes);
      return 'stored';
    },
    get: async (name) => objects.get(name),
    remove: async (name) => {
      objects.delete(name);
    },
    list: async (prefix) => [...objects.keys()].filter((name) => name.startsWith(prefix)).sort(),
  };
}
