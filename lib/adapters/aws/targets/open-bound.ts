import { KinesisClient } from '@aws-sdk/client-kinesis';
import type { Targets } from '../../../api/targets.ts';
import { clientSettings } from '../client-settings.ts';
import { closeClients, createClients } from '../clients.ts';
import { type BoundTarget, openTargets } from './open-targets.ts';

/** Targets with clients of their own, which hold the process until they are closed. */
export function openBoundTargets(bind: Readonly<Record<string, BoundTarget>>): { readonly targets: Targets; close(): void } {
  const clients = createClients();
  const kinesis = new KinesisClient(clientSettings());
  return {
    targets: openTargets({ bind, clients, kinesis }),
    close: () => {
      closeClients(clients);
      kinesis.destroy();
    },
  };
}
