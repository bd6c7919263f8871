// What `sluice run FILE --runtime invocations` forks: one environment of the job.
import { installModuleHooks } from './module-hooks.ts';

installModuleHooks();
const { serveInvocations } = await import('../adapters/invocations/worker.ts');
const { loadJob } = await import('./job-file.ts');
serveInvocations({ load: loadJob, process });
