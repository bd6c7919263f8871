// May this be deployed? Asked by CloudFormation before it changes anything of a job (lib/cdk/plan-check.ts).
export { answerCheck as handler } from '../lib/aws/deploy-check-resource.ts';
