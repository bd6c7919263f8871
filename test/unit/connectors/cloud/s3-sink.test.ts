import { describe, expect, test } from 'vitest';
import type { DetachedContext, DetachedTransaction } from '../../../../lib/api/sink.ts';
import type { BucketTarget, ObjectAnswer, Targets } from '../../../../lib/api/targets.ts';
import { type CommitDecision, decideCommit, type Look } from '../../../../lib/connectors/cloud/s3-commit.ts';
import { s3Sink } from '../../../../lib/connectors/cloud/s3-sink.ts';
import { lines } from '../../../../lib/connectors/formats/lines.ts';
import { ndjson } from '../../../../lib/connectors/formats/ndjson.ts';
import { emptyBatch } from '../../../../lib/core/batch.ts';
import { MiB } from '../../../../lib/core/limits.ts';

describe('what an answer to a commit means', () => {
  type Row = readonly [ObjectAnswer['kind'], 'put' | 'upload', Look, CommitDecision];
  // biome-ignore format: a table
  const table: readonly Row[] = [
    ['done',      'put',    undefined, 'committed'],
    ['done',      'upload', undefined, 'committed'],
    ['conflict',  'put',    undefined, 'again'],
    ['conflict',  'upload', undefined, 'prepare-again'],
    ['exists',    'put',    undefined, 'look'],
    ['exists',    'put',    'ours',    'committed'],
    ['exists',    'upload', 'ours',    'committed'],
    ['exists',    'put',    'foreign', 'foreign'],
    ['exists',    'upload', 'foreign', 'foreign'],
    ['exists',    'upload', 'absent',  'again'],
    ['no-upload', 'upload', undefined, 'look'],
    ['no-upload', 'upload', 'ours',    'committed'],
    ['no-upload', 'upload', 'absent',  'prepare-again'],
    ['no-upload', 'upload', 'foreign', 'foreign'],
    ['unknown',   'put',    undefined, 'look'],
    ['unknown',   'put',    'ours',    'committed'],
    ['unknown',   'put',    'absent',  'again'],
    ['unknown',   'upload', 'ours',    'committed'],
    ['unknown',   'upload', 'absent',  'again'],
    ['unknown',   'upload', 'foreign', 'foreign'],
  ];
  test.each(table)('%s to a %s, and a look that found %s: %s', (answer, how, look, decision) => {
    expect(decideCommit({ answer, how, look })).toBe(decision);
  });
});

type Fault = 'lost-reply' | 'no-effect' | 'conflict' | 'upload-gone';

class FakeBucket implements BucketTarget {
  readonly name = 's3://fake/';
  readonly objects = new Map<string, { readonly bytes: Uint8Array; readonly mark: string }>();
  readonly uploads = new Map<string, { readonly object: string; readonly mark: string; readonly parts: Uint8Array[] }>();
  readonly faults: Fault[] = [];
  requests = 0;
  #ids = 0;

  putAbsent(object: string, bytes: Uint8Array, mark: string): Promise<ObjectAnswer> {
    return this.#make(object, () => ({ bytes, mark }));
  }

  beginUpload(object: string, mark: string): Promise<string> {
    const id = `upload-${++this.#ids}`;
    this.uploads.set(id, { object, mark, parts: [] });
    return Promise.resolve(id);
  }

  uploadPart(_object: string, upload: string, part: number, bytes: Uint8Array): Promise<string> {
    this.uploads.get(upload)!.parts[part - 1] = bytes;
    return Promise.resolve(`tag-${part}`);
  }

  completeUpload(object: string, id: string, parts: readonly string[]): Promise<ObjectAnswer> {
    if (this.faults[0] === 'upload-gone') {
      this.faults.shift();
      this.uploads.delete(id);
    }
    const upload = this.uploads.get(id);
    if (upload === undefined) return Promise.resolve({ kind: 'no-upload' });
    expect(upload.parts.slice(0, -1).every(({ length }) => length >= 5 * MiB)).toBe(true);
    expect(parts.length).toBe(upload.parts.length);
    return this.#make(object, () => {
      this.uploads.delete(id);
      return { bytes: Buffer.concat(upload.parts), mark: upload.mark };
    });
  }

  abortUpload(_object: string, upload: string): Promise<void> {
    this.uploads.delete(upload);
    return Promise.resolve();
  }

  markOf(object: string): Promise<{ readonly kind: 'absent' } | { readonly kind: 'there'; readonly mark: string | undefined }> {
    const found = this.objects.get(object);
    return Promise.resolve(found === undefined ? { kind: 'absent' } : { kind: 'there', mark: found.mark });
  }

  #make(object: string, make: () => { readonly bytes: Uint8Array; readonly mark: string }): Promise<ObjectAnswer> {
    this.requests++;
    const fault = this.faults.shift();
    if (fault === 'no-effect') return Promise.resolve({ kind: 'unknown', reason: 'TimeoutError' });
    if (fault === 'conflict') return Promise.resolve({ kind: 'conflict' });
    if (this.objects.has(object)) return Promise.resolve({ kind: 'exists' });
    this.objects.set(object, make());
    return Promise.resolve(fault === 'lost-reply' ? { kind: 'unknown', reason: 'TimeoutError' } : { kind: 'done' });
  }
}

function world() {
  const bucket = new FakeBucket();
  const context = {
    ...{ job: 'clicks', uid: 'out', generation: 1, subtask: 0, parallelism: 1 },
    clock: { now: () => Date.parse('2026-11-30T06:00:00Z') },
    targets: { bucket: () => bucket } as unknown as Targets,
  } as unknown as DetachedContext;
  const of = (rows: readonly unknown[], checkpoint = 7): DetachedTransaction<unknown> => ({
    id: { job: 'clicks', uid: 'out', generation: 1, subtask: 0, checkpoint: checkpoint - 1 },
    ...{ checkpoint, timestamp: 0, rows },
  });
  return { bucket, context, of };
}

function detachedOf(o: { readonly isText?: boolean } = {}) {
  const sink = s3Sink<unknown>('out', { format: (o.isText === true ? lines() : ndjson()) as never, partBytes: 5 * MiB });
  const { detached } = sink;
  if (detached?.kind !== 'transactional') throw new Error('it commits');
  return detached;
}

const name = 'part-20261130T060000000Z-0-0000000007-1.ndjson';
const large = Array.from({ length: 12 }, (_, i) => ({ i, text: 'x'.repeat(MiB) }));

describe('a sink of objects', () => {
  test('nothing is visible before the commit, and the rows are after it', async () => {
    const { bucket, context, of } = world();
    const detached = detachedOf();
    const started = await detached.start!(context);
    const prepared = await detached.prepare(context, of([{ a: 1 }, { a: 2 }]), started);
    expect(bucket.objects.size).toBe(0);
    await detached.commit(context, of([{ a: 1 }, { a: 2 }]), prepared);
    expect([...bucket.objects.keys()]).toEqual([name]);
    expect(Buffer.from(bucket.objects.get(name)!.bytes).toString()).toBe('{"a":1}\n{"a":2}\n');
  });

  test('an empty checkpoint makes no object and no request', async () => {
    const { bucket, context, of } = world();
    const detached = detachedOf();
    const prepared = await detached.prepare(context, of([]), await detached.start!(context));
    await detached.commit(context, of([]), prepared);
    expect(bucket.objects.size + bucket.uploads.size + bucket.requests).toBe(0);
  });

  test('what is large is uploaded in parts before the commit, and is whole after it', async () => {
    const { bucket, context, of } = world();
    const detached = detachedOf();
    const prepared = await detached.prepare(context, of(large), await detached.start!(context));
    expect(bucket.objects.size).toBe(0);
    expect([...bucket.uploads.values()][0]!.parts.length).toBe(3);
    await detached.commit(context, of(large), prepared);
    expect(Buffer.from(bucket.objects.get(name)!.bytes).toString().split('\n').length).toBe(large.length + 1);
  });

  test.each(['lost-reply', 'no-effect', 'conflict'] as const)('a put that meets %s ends with one object', async (fault) => {
    const { bucket, context, of } = world();
    const detached = detachedOf();
    const prepared = await detached.prepare(context, of([{ a: 1 }]), await detached.start!(context));
    bucket.faults.push(fault);
    await detached.commit(context, of([{ a: 1 }]), prepared);
    await detached.commit(context, of([{ a: 1 }]), prepared);
    expect([...bucket.objects.keys()]).toEqual([name]);
  });

  test('a completed upload that is completed again is committed', async () => {
    const { bucket, context, of } = world();
    const detached = detachedOf();
    const prepared = await detached.prepare(context, of(large), await detached.start!(context));
    bucket.faults.push('lost-reply');
    await detached.commit(context, of(large), prepared);
    await detached.commit(context, of(large), prepared);
    expect(bucket.objects.size).toBe(1);
  });

  test('an upload that was taken away is made anew from the rows', async () => {
    const { bucket, context, of } = world();
    const detached = detachedOf();
    const started = await detached.start!(context);
    const prepared = await detached.prepare(context, of(large), started);
    bucket.faults.push('upload-gone');
    await expect(detached.commit(context, of(large), prepared)).rejects.toMatchObject({ code: 'SINK_TRANSACTION_FORGOTTEN' });
    await detached.commit(context, of(large), await detached.prepare(context, of(large), started));
    expect(bucket.objects.size).toBe(1);
    await detached.commit(context, of(large), prepared); // the record still has the first upload
  });

  test('an object of somebody else is left alone and told', async () => {
    const { bucket, context, of } = world();
    const detached = detachedOf();
    const prepared = await detached.prepare(context, of([{ a: 1 }]), await detached.start!(context));
    bucket.objects.set(name, { bytes: new Uint8Array(), mark: 'theirs' });
    await expect(detached.commit(context, of([{ a: 1 }]), prepared)).rejects.toMatchObject({ code: 'OUTPUT_CONFLICT' });
    expect(bucket.objects.get(name)!.mark).toBe('theirs');
  });

  test('an abort gives the upload up, and one that is not known does nothing', async () => {
    const { bucket, context, of } = world();
    const detached = detachedOf();
    const prepared = await detached.prepare(context, of(large), await detached.start!(context));
    await detached.abort(context, of(large), undefined);
    expect(bucket.uploads.size).toBe(1);
    await detached.abort(context, of(large), prepared);
    expect(bucket.uploads.size + bucket.objects.size).toBe(0);
  });

  test('a commit that nobody answers is left to the next try', async () => {
    const { bucket, context, of } = world();
    const detached = detachedOf();
    const prepared = await detached.prepare(context, of([{ a: 1 }]), await detached.start!(context));
    bucket.faults.push('no-effect', 'no-effect', 'no-effect');
    await expect(detached.commit(context, of([{ a: 1 }]), prepared)).rejects.toMatchObject({ code: 'STORE_UNCERTAIN' });
  });

  test('without a binding it says what to give', async () => {
    const { context, of } = world();
    const detached = detachedOf();
    const prepared = { object: name, mark: 'ours' };
    const unbound = { ...context, targets: undefined } as DetachedContext;
    await expect(async () => detached.commit(unbound, of([{ a: 1 }]), prepared)).rejects.toMatchObject({ code: 'BIND_MISSING' });
  });
});

describe('a sink of objects where writers live on', () => {
  test.each([
    ['small', [{ a: 1 }], []],
    ['in parts', large, []],
    ['small, with a reply that is lost', [{ a: 1 }], ['lost-reply']],
    ['in parts, with an upload that is taken away', large, ['upload-gone']],
  ] as const)('rows are in the bucket when their checkpoint has completed, once, whoever commits again (%s)', async (_, rows, faults) => {
    const { bucket, context } = world();
    const sink = s3Sink<unknown>('out', { format: ndjson() as never, partBytes: 5 * MiB });
    const begun = { ...context, restoredCheckpoint: 0, restoredStates: [], note: () => Promise.resolve() };
    const writer = sink.createWriter(begun);
    await writer.open();
    await writer.write({ ...emptyBatch(), values: [...rows], count: rows.length });
    const { transactions } = await writer.prepare(1);
    expect(bucket.objects.size + bucket.uploads.size).toBe(0);
    bucket.faults.push(...faults);
    if (faults.some((fault) => fault === 'upload-gone')) await expect(writer.commit(1)).rejects.toThrow('made anew');
    await writer.commit(1);
    await sink.recover({ ...context, promised: transactions, abandoned: [] });
    expect(bucket.objects.size).toBe(1);
    expect(bucket.uploads.size).toBe(0);
    const [object] = bucket.objects.values();
    expect(Buffer.from(object!.bytes).toString().trim().split('\n')).toHaveLength(rows.length);
  });
});
