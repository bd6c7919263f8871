import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  HeadObjectCommand,
  PutObjectCommand,
  type S3Client,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import type { BucketTarget, ObjectAnswer } from '../../../api/targets.ts';
import { errorOf, meaningOf, nameOf } from '../errors.ts';

const markName = 'sluice-mark';

/**
 * A user's bucket, below a prefix.
 *   B1  Objects are only ever made where there is none.
 *   B2  What an error says about a commit is told as it is (`ObjectAnswer`); what to do about it is the sink's to decide.
 */
export class S3Bucket implements BucketTarget {
  readonly name: string;
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #prefix: string;

  constructor(client: S3Client, { bucket, prefix }: { readonly bucket: string; readonly prefix: string }) {
    this.#client = client;
    this.#bucket = bucket;
    this.#prefix = prefix === '' || prefix.endsWith('/') ? prefix : `${prefix}/`;
    this.name = `s3://${bucket}/${this.#prefix}`;
  }

  putAbsent(object: string, bytes: Uint8Array, mark: string): Promise<ObjectAnswer> {
    const command = new PutObjectCommand({ ...this.#place(object), Body: bytes, IfNoneMatch: '*', Metadata: { [markName]: mark } });
    return this.#answer('PutObject', object, () => this.#client.send(command));
  }

  async beginUpload(object: string, mark: string): Promise<string> {
    const command = new CreateMultipartUploadCommand({ ...this.#place(object), Metadata: { [markName]: mark } });
    const { UploadId: upload = '' } = await this.#ask('CreateMultipartUpload', object, () => this.#client.send(command));
    return upload;
  }

  async uploadPart(object: string, upload: string, part: number, bytes: Uint8Array): Promise<string> {
    const command = new UploadPartCommand({ ...this.#place(object), UploadId: upload, PartNumber: part, Body: bytes });
    const { ETag: tag = '' } = await this.#ask('UploadPart', object, () => this.#client.send(command));
    return tag;
  }

  completeUpload(object: string, upload: string, parts: readonly string[]): Promise<ObjectAnswer> {
    const command = new CompleteMultipartUploadCommand({
      ...this.#place(object),
      UploadId: upload,
      IfNoneMatch: '*',
      MultipartUpload: { Parts: parts.map((ETag, i) => ({ ETag, PartNumber: i + 1 })) },
    });
    return this.#answer('CompleteMultipartUpload', object, () => this.#client.send(command));
  }

  async abortUpload(object: string, upload: string): Promise<void> {
    try {
      await this.#client.send(new AbortMultipartUploadCommand({ ...this.#place(object), UploadId: upload }));
    } catch (error) {
      if (nameOf(error) !== 'NoSuchUpload') throw this.#errorOf(error, 'AbortMultipartUpload', object);
    }
  }

  async markOf(object: string): Promise<{ readonly kind: 'absent' } | { readonly kind: 'there'; readonly mark: string | undefined }> {
    try {
      const { Metadata: metadata } = await this.#client.send(new HeadObjectCommand(this.#place(object)));
      return { kind: 'there', mark: metadata?.[markName] };
    } catch (error) {
      if (nameOf(error) === 'NotFound' || nameOf(error) === 'NoSuchKey') return { kind: 'absent' };
      throw this.#errorOf(error, 'HeadObject', object);
    }
  }

  #place(object: string): { readonly Bucket: string; readonly Key: string } {
    return { Bucket: this.#bucket, Key: this.#prefix + object };
  }

  async #answer(action: string, object: string, request: () => Promise<unknown>): Promise<ObjectAnswer> {
    try {
      await request();
      return { kind: 'done' };
    } catch (error) {
      const answer = answerOf(error);
      if (answer !== undefined) return answer;
      throw this.#errorOf(error, action, object);
    }
  }

  async #ask<T>(action: string, object: string, request: () => Promise<T>): Promise<T> {
    try {
      return await request();
    } catch (error) {
      throw this.#errorOf(error, action, object);
    }
  }

  #errorOf(error: unknown, action: string, object: string): Error {
    return errorOf(error, `s3:${action} of ${this.name}${object}`);
  }
}

/** Pure: what an error means for an object; `undefined`: nothing was done, and whoever asked has to know why. */
export function answerOf(error: unknown): ObjectAnswer | undefined {
  const name = nameOf(error);
  if (name === 'NoSuchUpload') return { kind: 'no-upload' };
  if (name === 'ConditionalRequestConflict') return { kind: 'conflict' };
  const status = (error as { readonly $metadata?: { readonly httpStatusCode?: number } }).$metadata?.httpStatusCode;
  switch (meaningOf(name, status)) {
    case 'condition':
      return { kind: 'exists' };
    case 'unknown':
      return { kind: 'unknown', reason: `${name}: ${error instanceof Error ? error.message : ''}` };
    default:
      return undefined;
  }
}
