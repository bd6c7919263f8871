import { defineJob, print } from 'sluice';

export default defineJob('numbers', (env) => {
  env.fromSequence(1, 10, { uid: 'numbers' }).sinkTo(print(), { uid: 'out' });
});
