// Code of the functions. A bundle is made from `functions/<role>.ts` with the user's module in it; CDK names it by the hash of what came out, so code
// that did not change is not deployed again.

import { AssetHashType, DockerImage } from 'aws-cdk-lib';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type BundledRole, bundleRole } from '../aws/bundle.ts';

/**
 * @param entry  path of the user's module; of a role that runs no user code, none
 * @param hasStreams  whether the exchange is made of streams, whatever the module names
 */
export function codeOf(role: BundledRole, entry: string | undefined, hasStreams = false): Code {
  return Code.fromAsset(import.meta.dirname, {
    assetHashType: AssetHashType.OUTPUT,
    bundling: {
      image: DockerImage.fromRegistry('none'), // never asked: the bundle is made here
      command: ['sluice', role, entry ?? '', ...(hasStreams ? ['streams'] : [])], // CDK makes one asset of calls that look alike
      local: {
        tryBundle(outDir) {
          bundleRole({ role, entry, outDir, hasStreams });
          return true;
        },
      },
    },
  });
}
