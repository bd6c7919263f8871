// A role is given what it is told and nothing else.

import { type Grant, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { answeredWildcard } from './nag.ts';
import type { Access, Allowed } from './targets.ts';

const whyObjects = 'Objects are named as the job goes; the wildcard ends at the bucket of the job, or at what is bound to its sink.';

export function roleOf(scope: Construct, id: string, service: string, description: string): Role {
  return new Role(scope, id, { assumedBy: new ServicePrincipal(service), description });
}

export function allow(role: Role, allowed: Iterable<Allowed>): void {
  for (const { actions, resources } of allowed) {
    role.addToPolicy(new PolicyStatement({ actions: [...actions], resources: [...resources] }));
  }
}

export function allowAccess(role: Role, { allowed, key, keyActions }: Access): void {
  allow(role, allowed);
  allowKey(role, key, keyActions);
  for (const { resources } of allowed) {
    for (const arn of resources) if (arn.endsWith('*')) answeredWildcard(role, arn, whyObjects);
  }
}

export function allowKey(role: Role, key: IKey | undefined, actions: readonly string[]): Grant | undefined {
  return key?.grant(role, ...actions);
}
