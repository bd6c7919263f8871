// A bundle puts the user's module here.
declare module 'sluice-job' {
  const job: unknown;
  export default job;
}
