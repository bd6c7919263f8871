import { describe, expect, test } from 'vitest';
import { FakeDisk, seededRandom } from '../../../lib/testing/index.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function fresh(): FakeDisk {
  const disk = new FakeDisk();
  disk.makeTree('/d', 'test');
  disk.syncEverything();
  return disk;
}

/** What may be found in `/d` after a power cut, over many machines on which the same was done. */
function outcomes(work: (disk: FakeDisk) => void): Set<string> {
  const seen = new Set<string>();
  for (let seed = 0; seed < 200; seed++) {
    const disk = fresh();
    work(disk);
    disk.powerCut(seededRandom(seed));
    seen.add(
      disk
        .walk('/d')
        .map((p) => `${p.slice(3)}:${disk.text(p).replaceAll('\0', '0')}`)
        .join(' '),
    );
  }
  return seen;
}

describe('the fake disk', () => {
  test('no operation makes a parent, replaces a directory that is not empty, or takes a name twice', () => {
    const disk = fresh();
    expect(() => disk.create('/d/no/x', 'test')).toThrow('ENOENT');
    disk.create('/d/x', 'test');
    expect(() => disk.create('/d/x', 'test')).toThrow('EEXIST');
    expect(() => disk.create('/d/x/y', 'test')).toThrow('ENOTDIR');
    expect(disk.makeDirectory('/d/e', 'test')).toBe('created');
    expect(disk.makeDirectory('/d/e', 'test')).toBe('exists');
    disk.create('/d/e/y', 'test');
    disk.makeDirectory('/d/f', 'test');
    expect(() => disk.rename('/d/f', '/d/e', 'test')).toThrow('ENOTEMPTY');
    expect(() => disk.rename('/d/e', '/d/e/deeper', 'test')).toThrow('EINVAL');
    expect(() => disk.rename('/d/gone', '/d/z', 'test')).toThrow('ENOENT');
    expect(disk.link('/d/x', '/d/e/y', 'test')).toBe('exists');
    expect(disk.unlink('/d/gone', 'test')).toBe('absent');
  });

  test('two names of one file have one identity, and a file outlives its names while it is open', () => {
    const disk = fresh();
    const file = disk.create('/d/x', 'test');
    expect(disk.link('/d/x', '/d/y', 'test')).toBe('linked');
    expect(disk.stat('/d/x')?.identity).toBe(disk.stat('/d/y')?.identity);
    disk.unlink('/d/x', 'test');
    disk.append(file, bytes('late'));
    expect(disk.text('/d/y')).toBe('late');
  });

  test('writers of a renamed directory go on writing to their file', () => {
    const disk = fresh();
    disk.makeDirectory('/d/old', 'test');
    const file = disk.create('/d/old/x', 'test');
    disk.rename('/d/old', '/d/new', 'test');
    disk.append(file, bytes('zombie'));
    expect(disk.text('/d/new/x')).toBe('zombie');
    expect(() => disk.create('/d/old/y', 'test')).toThrow('ENOENT');
  });

  test('a power cut takes what was not synced: any of it, none of it, or its content', () => {
    const seen = outcomes((disk) => disk.append(disk.create('/d/x', 'test'), bytes('ab')));
    expect([...seen].sort()).toEqual(['', 'x:', 'x:0', 'x:00', 'x:a', 'x:ab']);
  });

  test('a power cut leaves what was synced, file and directory', () => {
    const seen = outcomes((disk) => {
      const file = disk.create('/d/x', 'test');
      disk.append(file, bytes('ab'));
      disk.syncFile(file);
      disk.syncDirectory('/d');
    });
    expect([...seen]).toEqual(['x:ab']);
  });

  test('a rename that was not synced happened wholly or not at all, and one that was synced stays', () => {
    const prepare = (disk: FakeDisk): void => {
      disk.makeDirectory('/d/a', 'test');
      disk.makeDirectory('/d/b', 'test');
      const file = disk.create('/d/a/x', 'test');
      disk.append(file, bytes('1'));
      disk.syncEverything();
      disk.rename('/d/a/x', '/d/b/x', 'test');
    };
    expect([...outcomes(prepare)].sort()).toEqual(['a/x:1', 'b/x:1']);
    const synced = outcomes((disk) => {
      prepare(disk);
      disk.syncDirectory('/d/b');
    });
    expect([...synced]).toEqual(['b/x:1']);
  });

  test('names survive in the order in which they were made in a directory', () => {
    const seen = outcomes((disk) => {
      disk.create('/d/a', 'test');
      disk.create('/d/b', 'test');
    });
    expect([...seen].sort()).toEqual(['', 'a:', 'a: b:']);
  });

  test('a removal that breaks off leaves the parents of what is left', () => {
    const disk = fresh();
    disk.makeTree('/d/t/u', 'test');
    disk.create('/d/t/u/x', 'test');
    disk.create('/d/t/y', 'test');
    disk.removeTree('/d/t', 'test', 1);
    expect(disk.walk('/d')).toEqual(['/d/t/y']);
    disk.removeTree('/d/t', 'test');
    expect(disk.find('/d/t')).toBeUndefined();
    disk.removeTree('/d/t', 'test');
  });
});
