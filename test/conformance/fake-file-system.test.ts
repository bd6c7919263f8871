// The strict fake passes the suite of its port twice: looked at directly, and through a world that steps as long as somebody waits.
import { describe, test } from 'vitest';
import { FakeDisk, fileSystemSuite, instantFileSystem, World } from '../../lib/testing/index.ts';

const directory = '/home/work';

fileSystemSuite('strict fake, at once', { describe, test }, async () => {
  const disk = new FakeDisk();
  disk.makeTree(directory, 'test');
  return { files: instantFileSystem(disk), directory };
});

let seed = 0;
fileSystemSuite('strict fake, in a world', { describe, test }, async () => {
  const world = new World({ seed: ++seed });
  world.disk.makeTree(directory, 'test');
  const { promise, resolve } = Promise.withResolvers<void>();
  const running = world.run(promise);
  return {
    files: world.process('suite').ports.files,
    directory,
    async cleanUp() {
      resolve();
      await running;
    },
  };
});
