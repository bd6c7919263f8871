// module-hooks.ts makes a job file load wherever it lies.
//   H1  A bare `sluice` or `sluice/testing` is this very package, also where none is installed: a job and the runtime that runs it must meet
//       in the same modules, or a state descriptor of one would be a stranger to the other.
//   H2  A TypeScript file whose package says nothing of its module system is an ES module: Node would find that out by itself, after a
//       first parse that fails and with a warning on every run.
//   H3  Node's notices that type stripping and SQLite are young are kept back; every other warning stays.
import { existsSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { ownModule } from './package.ts';

let areInstalled = false;

export function installModuleHooks(): void {
  if (areInstalled) return;
  areInstalled = true;
  keepBackNotices();
  registerHooks({
    resolve(specifier, context, next) {
      const own = ownModule(specifier);
      if (own !== undefined) return { url: own, shortCircuit: true };
      const resolved = next(specifier, context);
      if (resolved.format !== 'module-typescript' && isTypelessTypeScript(resolved.url))
        return { ...resolved, format: 'module-typescript' };
      return resolved;
    },
  });
}

const typeOfDirectory = new Map<string, boolean>();

/** A `.ts` file of the user below a package.json that names no `type`, or below none. */
function isTypelessTypeScript(url: string): boolean {
  if (!url.startsWith('file:') || !/\.ts($|[?#])/.test(url) || url.includes('/node_modules/')) return false;
  const directory = new URL('.', url);
  const known = typeOfDirectory.get(directory.href);
  if (known !== undefined) return known;
  const answer = packageTypeAbove(directory) === undefined;
  typeOfDirectory.set(directory.href, answer);
  return answer;
}

function packageTypeAbove(start: URL): unknown {
  for (let directory = start; ; directory = new URL('..', directory)) {
    const manifest = new URL('package.json', directory);
    if (existsSync(manifest)) {
      try {
        return (JSON.parse(readFileSync(manifest, 'utf8')) as { type?: unknown }).type;
      } catch {
        return 'unreadable'; // Node itself says what is wrong with it
      }
    }
    if (new URL('..', directory).href === directory.href) return undefined;
  }
}

let areKeptBack = false;

/** Notices that are no news to who runs a job (H3). */
export function keepBackNotices(): void {
  if (areKeptBack) return;
  areKeptBack = true;
  const emit = process.emitWarning.bind(process) as (...given: readonly unknown[]) => void;
  process.emitWarning = (...given: readonly unknown[]): void => {
    const [warning, type] = given;
    const name = typeof type === 'object' && type !== null ? (type as { type?: unknown }).type : type;
    if (name === 'ExperimentalWarning' && /^(Type Stripping|SQLite)/.test(String(warning))) return;
    emit(...given);
  };
}
