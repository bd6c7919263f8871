// A role is given what it is told and nothing else.

import { type Grant, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import type { Access, Allowed } from './targets.ts';

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
}

export function allowKey(role: Role, key: IKey | undefined, actions: readonly string[]): Grant | undefined {
  return key?.grant(role, ...actions);
}
