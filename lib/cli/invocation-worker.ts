// What `sluice run FILE --runtime invocations` forks: one environment of the job.
import nodeModule from 'node:module';
import { installModuleHooks } from './module-hooks.ts';

nodeModule.enableCompileCache(); // workers are started again and again
installModuleHooks();
const { serveInvocations } = await import('../adapters/invocations/worker.ts');
const { loadJob } = await import('./job-file.ts');
const { openBound } = await import('./aws/services.ts');
serveInvocations({ load: loadJob, openTargets: async (bind) => (await openBound(bind))?.targets, process });
