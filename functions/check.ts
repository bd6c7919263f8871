// May this be deployed? Asked by CloudFormation before it changes anything of a job (lib/cdk/plan-check.ts).
export { checkHandler as handler } from 'sluice/aws';
