// What a user's bucket says about a commit, from the bytes that S3 sends.
import { describe, expect, test } from 'vitest';
import { S3Bucket } from '../../../../lib/adapters/aws/targets/bucket.ts';
import type { ObjectAnswer } from '../../../../lib/api/targets.ts';
import { type Answer, type Asked, scripted, xmlError } from './scripted.ts';

function bucketOf(...answers: readonly Answer[]): { readonly bucket: S3Bucket; readonly asked: readonly Asked[] } {
  const { clients, asked } = scripted(...answers);
  return { bucket: new S3Bucket(clients.s3, { bucket: 'results', prefix: 'daily' }), asked };
}

const completed: Answer = {
  status: 200,
  body: '<CompleteMultipartUploadResult><Bucket>results</Bucket><Key>daily/a</Key><ETag>"1-1"</ETag></CompleteMultipartUploadResult>',
  headers: { 'content-type': 'application/xml' },
};
/** S3 begins its answer before it has put the parts together, so that a failure comes with the status of a success. */
const failedLate: Answer = xmlError(200, 'InternalError', 'We encountered an internal error. Please try again.');

const complete = (bucket: S3Bucket): Promise<ObjectAnswer> => bucket.completeUpload('a', 'upload', ['"part"']);
const putAbsent = (bucket: S3Bucket): Promise<ObjectAnswer> => bucket.putAbsent('a', new Uint8Array(1), 'mark');

describe('a commit of an upload', () => {
  test.each([
    ['is done', completed, { kind: 'done' }],
    ['says inside a 200 that it failed: nobody knows', failedLate, { kind: 'unknown', reason: expect.stringContaining('InternalError') }],
    ['says inside a 200 that it is too busy, and nothing happened', xmlError(200, 'SlowDown'), 'STORE_THROTTLED'],
    ['has no upload any more: aborted, or completed by an earlier try', xmlError(404, 'NoSuchUpload'), { kind: 'no-upload' }],
    ['met a delete and has to begin anew', xmlError(409, 'ConditionalRequestConflict'), { kind: 'conflict' }],
    ['finds the object there', xmlError(412, 'PreconditionFailed'), { kind: 'exists' }],
    ['got no word', { status: 500, body: '' }, { kind: 'unknown', reason: expect.any(String) }],
    ['has a part that is too small', xmlError(400, 'EntityTooSmall'), 'STORE_REQUEST_INVALID'],
    ['names a part that is not there', xmlError(400, 'InvalidPart'), 'STORE_REQUEST_INVALID'],
    ['is not allowed', xmlError(403, 'AccessDenied'), 'STORE_FORBIDDEN'],
    ['may not use the key', xmlError(400, 'KMS.DisabledException'), 'STORE_FORBIDDEN'],
  ] as const)('%s', async (_, answer, expected) => {
    const { bucket } = bucketOf(answer);
    if (typeof expected !== 'string') return expect(await complete(bucket)).toEqual(expected);
    await expect(complete(bucket)).rejects.toMatchObject({ code: expected, message: expect.stringContaining('s3://results/daily/a') });
  });
});

test('a small object is put only where there is none, and tells what it found', async () => {
  const { bucket } = bucketOf(xmlError(412, 'PreconditionFailed'), xmlError(409, 'ConditionalRequestConflict'), { status: 200, body: '' });
  expect([await putAbsent(bucket), await putAbsent(bucket), await putAbsent(bucket)].map(({ kind }) => kind)).toEqual([
    'exists',
    'conflict',
    'done',
  ]);
});

test('an abort of an upload that is gone is done', async () => {
  const { bucket } = bucketOf(xmlError(404, 'NoSuchUpload'), xmlError(503, 'SlowDown'));
  await bucket.abortUpload('a', 'upload');
  await expect(bucket.abortUpload('a', 'upload')).rejects.toMatchObject({ code: 'STORE_THROTTLED' });
});

test('whose an object is stands in its mark; an answer without a body is read by its status', async () => {
  const { bucket } = bucketOf(
    { status: 200, body: '', headers: { 'x-amz-meta-sluice-mark': 'mine' } },
    { status: 200, body: '' },
    { status: 404, body: '' },
    { status: 403, body: '' },
  );
  expect(await bucket.markOf('a')).toEqual({ kind: 'there', mark: 'mine' });
  expect(await bucket.markOf('a')).toEqual({ kind: 'there', mark: undefined });
  expect(await bucket.markOf('a')).toEqual({ kind: 'absent' });
  await expect(bucket.markOf('a')).rejects.toMatchObject({ code: 'STORE_FORBIDDEN' });
});
