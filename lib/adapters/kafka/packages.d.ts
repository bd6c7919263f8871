// What is used of packages that only jobs with a topic need: they are loaded when one is read, and need not be there to check types.

declare module '@platformatic/kafka' {
  export interface SaslOptions {
    readonly mechanism: 'PLAIN' | 'SCRAM-SHA-256' | 'SCRAM-SHA-512' | 'OAUTHBEARER';
    readonly username?: string;
    readonly password?: string;
    readonly token?: string | (() => Promise<string>);
  }

  export interface ConsumerOptions {
    readonly clientId: string;
    readonly groupId: string;
    readonly bootstrapBrokers: string[];
    readonly timeout?: number;
    readonly connectTimeout?: number;
    readonly requestTimeout?: number;
    readonly retries?: number;
    readonly tls?: object;
    readonly sasl?: SaslOptions;
  }

  export interface FetchedBatch {
    readonly firstOffset: bigint;
    readonly attributes: number;
    readonly lastOffsetDelta: number;
    readonly records: readonly { readonly offsetDelta: number; readonly key: Buffer | null; readonly value: Buffer | null }[];
  }

  export class Consumer {
    constructor(options: ConsumerOptions);
    metadata(o: { readonly topics: string[]; readonly forceUpdate?: boolean }): Promise<{
      readonly topics: Map<
        string,
        { readonly id: string; readonly partitionsCount: number; readonly partitions: readonly { readonly leader: number }[] }
      >;
    }>;
    listOffsets(o: {
      readonly topics: string[];
      readonly partitions: Record<string, number[]>;
      readonly timestamp: bigint;
      readonly isolationLevel: number;
    }): Promise<Map<string, readonly bigint[]>>;
    fetch(o: {
      readonly node: number;
      readonly topics: readonly {
        readonly topicId: string;
        readonly partitions: readonly {
          readonly partition: number;
          readonly currentLeaderEpoch: number;
          readonly fetchOffset: bigint;
          readonly lastFetchedEpoch: number;
          readonly partitionMaxBytes: number;
        }[];
      }[];
      readonly minBytes: number;
      readonly maxBytes: number;
      readonly maxWaitTime: number;
      readonly isolationLevel: number;
    }): Promise<{
      readonly responses: readonly {
        readonly partitions: readonly { readonly partitionIndex: number; readonly records?: readonly FetchedBatch[] | null }[];
      }[];
    }>;
    close(force?: boolean): Promise<void>;
  }
}

declare module '@aws-sdk/client-secrets-manager' {
  export class SecretsManagerClient {
    constructor(settings: object);
    send(command: GetSecretValueCommand): Promise<{ readonly SecretString?: string }>;
    destroy(): void;
  }
  export class GetSecretValueCommand {
    constructor(input: { readonly SecretId: string });
  }
}
