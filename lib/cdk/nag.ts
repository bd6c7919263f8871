// Findings of cdk-nag that are answered, each with its reason, where the thing is that they are about. cdk-nag itself is not needed for that.

import { Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

export function answered(construct: IConstruct, findings: Readonly<Record<string, string>>): void {
  for (const [id, reason] of Object.entries(findings)) Validations.of(construct).acknowledge({ id, reason });
}
