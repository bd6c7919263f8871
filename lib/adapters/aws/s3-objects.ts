import { DeleteObjectCommand, GetObjectCommand, ListObjectsV2Command, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { ObjectStore } from '../../invocation/ports.ts';
import { checkObjectName } from '../../invocation/request-limits.ts';
import { errorOf, meaningOf, nameOf } from './errors.ts';

/**
 * Objects of one job in its bucket.
 *   O1  A put is conditional on there being nothing: names get their bytes once. A delete that races with it (409) is asked again by whoever waits.
 */
export class S3Objects implements ObjectStore {
  readonly #client: S3Client;
  readonly #bucket: string;

  constructor(client: S3Client, bucket: string) {
    this.#client = client;
    this.#bucket = bucket;
  }

  async putIfAbsent(name: string, bytes: Uint8Array): Promise<'stored' | 'exists'> {
    checkObjectName(name);
    const command = new PutObjectCommand({ Bucket: this.#bucket, Key: name, Body: bytes, IfNoneMatch: '*' });
    try {
      await this.#client.send(command);
      return 'stored';
    } catch (error) {
      if (meaningOf(nameOf(error)) === 'condition') return 'exists';
      throw this.#errorOf(error, 'PutObject', name);
    }
  }

  async get(name: string): Promise<Uint8Array | undefined> {
    checkObjectName(name);
    try {
      const { Body: body } = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: name }));
      return await body?.transformToByteArray();
    } catch (error) {
      if (nameOf(error) === 'NoSuchKey') return undefined;
      throw this.#errorOf(error, 'GetObject', name);
    }
  }

  async remove(name: string): Promise<void> {
    checkObjectName(name);
    try {
      await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: name }));
    } catch (error) {
      throw this.#errorOf(error, 'DeleteObject', name);
    }
  }

  async list(prefix: string): Promise<readonly string[]> {
    const names: string[] = [];
    try {
      for (let token: string | undefined, isLast = false; !isLast; ) {
        const command: ListObjectsV2Command = new ListObjectsV2Command({
          Bucket: this.#bucket,
          ...(prefix === '' ? {} : { Prefix: prefix }),
          ...(token === undefined ? {} : { ContinuationToken: token }),
        });
        const page = await this.#client.send(command);
        names.push(...(page.Contents ?? []).map(({ Key: key }) => key ?? ''));
        token = page.NextContinuationToken;
        isLast = token === undefined;
      }
    } catch (error) {
      throw this.#errorOf(error, 'ListObjectsV2', prefix);
    }
    return names;
  }

  #errorOf(error: unknown, action: string, name: string): Error {
    return errorOf(error, `s3:${action} of ${name} in bucket ${this.#bucket}`);
  }
}
