// Findings of cdk-nag that are answered, each with its reason, where the thing is that they are about. cdk-nag itself is not needed for that.

import { Stack, Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

export function answered(construct: IConstruct, findings: Readonly<Record<string, string>>): void {
  for (const [id, reason] of Object.entries(findings)) Validations.of(construct).acknowledge({ id, reason });
}

/** Answers for a statement whose resource ends in a wildcard, by the name that cdk-nag gives the finding. */
export function answeredWildcard(construct: IConstruct, arn: string, reason: string): void {
  answered(construct, { [`AwsSolutions-IAM5[Resource::${textOf(Stack.of(construct).resolve(arn))}]`]: reason });
}

/** A resource as cdk-nag writes it: what only the deployment knows stands in angle brackets. */
function textOf(resolved: unknown): string {
  if (typeof resolved === 'string') return resolved;
  const {
    Ref: ref,
    'Fn::GetAtt': attribute,
    'Fn::Join': join,
  } = resolved as {
    readonly Ref?: string;
    readonly 'Fn::GetAtt'?: readonly string[];
    readonly 'Fn::Join'?: readonly [string, readonly unknown[]];
  };
  if (ref !== undefined) return `<${ref}>`;
  if (attribute !== undefined) return `<${attribute.join('.')}>`;
  return join === undefined ? JSON.stringify(resolved) : join[1].map(textOf).join(join[0]);
}
