#!/usr/bin/env node
// The command `sluice`. This file finds the command and carries its exit code out of the process; everything else is loaded when called.
//   M1  The process ends with the command's exit code, however many timers and sockets user code has left open.
//   M2  No error leaves as a bare stack trace, also one that user code throws where nobody waits for it.
//   M3  A process whose work was forgotten, so that nothing keeps it alive, says so and fails; so does one that code of the job has ended.
import nodeModule from 'node:module'; // whole, because an older Node would stop at a name that it lacks before it could be told why
import { type Arguments, notAvailableYet, parseArguments, usageError } from './arguments.ts';
import { type Command, type CommandEntry, commands, laterCommands } from './commands.ts';
import { endedByOthers, endProcess, waitsForNothing } from './ending.ts';
import { tellFailure } from './failure.ts';
import { Output } from './output.ts';

/** Splits the words into the command and what is behind it; common flags may stand before the command. */
function findCommand(words: readonly string[]): { readonly entry: CommandEntry | undefined; readonly rest: readonly string[] } {
  const leading = words.findIndex((word) => !word.startsWith('-'));
  if (leading < 0) return { entry: undefined, rest: words };
  const before = words.slice(0, leading);
  for (const length of [2, 1]) {
    const name = words.slice(leading, leading + length).join(' ');
    const entry = commands.find(({ shape }) => shape.name === name);
    if (entry !== undefined) return { entry, rest: [...before, ...words.slice(leading + length)] };
  }
  return { entry: undefined, rest: words.slice(leading) };
}

/** The words in front of a lone `--`: those behind it are the job's. */
function ownWords(words: readonly string[]): readonly string[] {
  return words.includes('--') ? words.slice(0, words.indexOf('--')) : words;
}

async function unknownCommand(words: readonly string[]): Promise<Error> {
  const { nearest } = await import('../core/suggest.ts');
  const word = words[0]!;
  const later = [words.slice(0, 2).join(' '), word].find((name) => laterCommands.includes(name));
  if (later !== undefined) return notAvailableYet(`\`sluice ${later}\``);
  const family = commands.filter(({ shape }) => shape.name.startsWith(`${word} `)).map(({ shape }) => `\`sluice ${shape.name}\``);
  if (family.length > 0) return usageError(`\`sluice ${word}\` is one of ${family.join(' and ')}`);
  const meant = nearest(
    word,
    commands.map(({ shape }) => shape.name.split(' ')[0]!),
  );
  return usageError(`there is no command '${word}'${meant === undefined ? '; `sluice --help` lists them' : `; did you mean '${meant}'?`}`);
}

async function showHelp(words: readonly string[]): Promise<number> {
  const { helpOf, overview } = await import('./help.ts');
  const { packageVersion } = await import('./package.ts');
  const { entry } = findCommand(words);
  process.stdout.write(`${entry === undefined ? overview(commands, packageVersion()) : helpOf(entry)}\n`);
  return 0;
}

async function showVersion(output: Output): Promise<number> {
  const { packageVersion } = await import('./package.ts');
  output.text(packageVersion());
  output.object({ version: packageVersion() });
  return 0;
}

async function perform(words: readonly string[], output: Output): Promise<number> {
  const { entry, rest } = findCommand(words);
  const own = ownWords(rest);
  if (words.length === 0 || own.includes('--help') || own.includes('-h')) return await showHelp(words);
  if (entry === undefined) {
    if (own.includes('--version') || own.includes('-V')) return await showVersion(output);
    throw own[0]?.startsWith('-') === false ? await unknownCommand(own) : usageError('no command is given; `sluice --help` lists them');
  }
  const given: Arguments = parseArguments(rest, entry.shape);
  const command = await loaderOf(entry, given)();
  return await command({ shape: entry.shape, arguments: given, output });
}

/** Where the job of the call is: in this place, or deployed. */
function loaderOf({ shape, load, loadDeployed, always, asksServices }: CommandEntry, { flags }: Arguments): () => Promise<Command> {
  if (always !== undefined) return always;
  const isDeployed = flags.has('stack');
  if (flags.has('endpoint') && !isDeployed && asksServices !== true)
    throw usageError('--endpoint is for deployed jobs; --stack is missing');
  if (isDeployed && loadDeployed === undefined) throw usageError(`\`sluice ${shape.name}\` is not for deployed jobs`);
  const loader = isDeployed ? loadDeployed : load;
  if (loader === undefined) throw usageError(`\`sluice ${shape.name}\` is for deployed jobs; --stack is missing`);
  return loader;
}

const nodeVersionMin = [22, 18]; // the first that reads TypeScript without a flag

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < nodeVersionMin[0]! || (major === nodeVersionMin[0] && minor < nodeVersionMin[1]!);
}

async function main(words: readonly string[]): Promise<void> {
  if (isTooOld(process.versions.node)) {
    process.stderr.write(`sluice: Node ${nodeVersionMin.join('.')} or newer is needed, and this is ${process.versions.node}\n`);
    process.exit(2);
  }
  nodeModule.enableCompileCache(); // what was read once is not parsed again at the next start
  const isSet = (name: string): boolean => ownWords(words).includes(name);
  const output = new Output({ json: isSet('--json'), verbose: isSet('--verbose'), out: process.stdout, err: process.stderr });
  const leave = async (code: number): Promise<void> => {
    await output.end();
    endProcess(code);
  };
  const fail = (error: unknown): number => tellFailure(output, error);
  guard((error) => void leave(fail(error)));
  process.on('exit', (code) => {
    const why = endedByOthers(code);
    if (why === undefined) return;
    const told = fail(why);
    process.exitCode = code === 0 ? told : code;
    void output.end(); // what is written to a pipe, a file or a terminal now is there when the process is gone
  });
  await leave(await perform(words, output).catch(fail));
}

/** Catches what nobody waits for, so that it ends the process the way an awaited failure does (M2, M3). */
function guard(fail: (error: unknown) => void): void {
  process.on('uncaughtException', fail);
  process.on('unhandledRejection', fail);
  process.on('beforeExit', () => {
    const why = waitsForNothing();
    if (why !== undefined) return fail(why);
    process.stderr.write('sluice: the work stopped before it was done, and nothing is left to wait for; please report this as a defect\n');
    endProcess(1);
  });
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      endProcess(141); // as if by SIGPIPE: whoever read the answer has left
    });
  }
}

void main(process.argv.slice(2));
