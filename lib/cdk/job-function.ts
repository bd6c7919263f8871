// One function of a deployed job: its role, its log and its variables. All of them run one bundle or another; what they may do is said by whoever
// makes them.

import { Duration, RemovalPolicy, Size, Stack } from 'aws-cdk-lib';
import type { ISecurityGroup, IVpc, SubnetSelection } from 'aws-cdk-lib/aws-ec2';
import type { Role } from 'aws-cdk-lib/aws-iam';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { type Architecture, type Code, Function as LambdaFunction, LoggingFormat, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { LogGroup, type RetentionDays } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { answered } from './nag.ts';
import { allow, allowKey, roleOf } from './permissions.ts';
import { keyReads } from './targets.ts';

/** What all functions of a job have in common. */
export interface FunctionSurroundings {
  readonly architecture: Architecture;
  readonly key: IKey | undefined;
  readonly logRetention: RetentionDays;
  readonly tracing: boolean;
  readonly vpc: IVpc | undefined;
  readonly vpcSubnets: SubnetSelection | undefined;
  readonly securityGroups: readonly ISecurityGroup[] | undefined;
}

export interface JobFunctionProps {
  readonly surroundings: FunctionSurroundings;
  readonly description: string;
  readonly code: Code;
  readonly environment: Readonly<Record<string, string>>;
  readonly memoryMb: number;
  readonly timeoutSeconds: number;
  readonly reservedConcurrency?: number | undefined;
}

export class JobFunction extends Construct {
  readonly role: Role;
  readonly lambda: LambdaFunction;

  constructor(scope: Construct, id: string, p: JobFunctionProps) {
    super(scope, id);
    const { key, vpc, vpcSubnets, securityGroups, tracing, architecture, logRetention } = p.surroundings;
    this.role = roleOf(this, 'Role', 'lambda.amazonaws.com', p.description);
    const logGroup = new LogGroup(this, 'Log', { retention: logRetention, removalPolicy: RemovalPolicy.DESTROY });
    allow(this.role, [{ actions: ['logs:CreateLogStream', 'logs:PutLogEvents'], resources: [logGroup.logGroupArn] }]);
    allowKey(this.role, key, keyReads); // of its variables
    if (vpc !== undefined) this.#allowInterfaces();
    this.lambda = new LambdaFunction(this, 'Function', {
      description: p.description,
      runtime: Runtime.NODEJS_24_X,
      architecture,
      handler: 'index.handler',
      code: p.code,
      role: this.role,
      logGroup,
      loggingFormat: LoggingFormat.TEXT, // metrics are lines of their own format, which must stay as they are
      environment: { ...p.environment },
      memorySize: p.memoryMb,
      timeout: Duration.seconds(p.timeoutSeconds),
      ephemeralStorageSize: Size.mebibytes(512),
      tracing: tracing ? Tracing.ACTIVE : Tracing.DISABLED,
      ...(key === undefined ? {} : { environmentEncryption: key }),
      ...(p.reservedConcurrency === undefined ? {} : { reservedConcurrentExecutions: p.reservedConcurrency }),
      ...(vpc === undefined ? {} : { vpc }),
      ...(vpcSubnets === undefined ? {} : { vpcSubnets }),
      ...(securityGroups === undefined ? {} : { securityGroups: [...securityGroups] }),
    });
    if (tracing) {
      answered(this.role, { 'AwsSolutions-IAM5[Resource::*]': 'X-Ray has no resources that a trace could be limited to.' });
    }
  }

  /** Lambda makes the network interfaces of a function in its name; the actions know no resource that exists before. */
  #allowInterfaces(): void {
    const actions = ['CreateNetworkInterface', 'DescribeNetworkInterfaces', 'DescribeSubnets', 'DeleteNetworkInterface'];
    allow(this.role, [
      {
        actions: [...actions, 'AssignPrivateIpAddresses', 'UnassignPrivateIpAddresses'].map((a) => `ec2:${a}`),
        resources: ['*'],
      },
    ]);
    answered(this.role, {
      'AwsSolutions-IAM5[Resource::*]': 'Lambda makes network interfaces in the name of the role, and they have no name before.',
    });
  }

  get name(): string {
    return this.lambda.functionName;
  }

  get arn(): string {
    return this.lambda.functionArn;
  }

  get stack(): Stack {
    return Stack.of(this);
  }
}
