// Where the services of AWS are, for clients that look into the variables of this process.

type Variables = Readonly<Record<string, string | undefined>>;

/** Pure. Emulators take any credentials, and the key is the number of the account; what the user has set stays. */
export function emulatorVariables(endpoint: string, variables: Variables): Readonly<Record<string, string>> {
  const hasOwn = variables.AWS_ACCESS_KEY_ID !== undefined || variables.AWS_PROFILE !== undefined;
  return {
    AWS_ENDPOINT_URL: endpoint,
    ...(hasOwn ? {} : { AWS_ACCESS_KEY_ID: '000000000000', AWS_SECRET_ACCESS_KEY: 'test' }),
    ...(variables.AWS_REGION === undefined ? { AWS_REGION: variables.AWS_DEFAULT_REGION ?? 'us-east-1' } : {}),
  };
}

/** `--endpoint` of a command on this machine; processes that it starts find it where this one does. */
export function useEndpoint(flags: ReadonlyMap<string, readonly string[]>): void {
  const endpoint = flags.get('endpoint')?.[0];
  if (endpoint !== undefined) Object.assign(process.env, emulatorVariables(endpoint, process.env));
}
