#!/usr/bin/env node
// The command `sluice`. This file finds the command and carries its exit code out of the process; everything else is loaded when called.
//   M1  The process ends with the command's exit code, however many timers and sockets user code has left open.
//   M2  No error leaves as a bare stack trace, also one that user code throws where nobody waits for it.
//   M3  A process whose work was forgotten, so that nothing keeps it alive, says so and fails.
import { enableCompileCache } from 'node:module';
import { type Arguments, parseArguments, usageError } from './arguments.ts';
import { type CommandEntry, commands, laterCommands } from './commands.ts';
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
  const { notAvailableYet } = await import('./arguments.ts');
  const { nearest } = await import('../core/suggest.ts');
  const word = words[0]!;
  if (laterCommands.includes(word)) return notAvailableYet(`\`sluice ${word}\``);
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

async function perform(words: readonly string[], output: Output): Promise<number> {
  if (words[0] === '--version' || words[0] === '-V') {
    const { packageVersion } = await import('./package.ts');
    output.text(packageVersion());
    output.object({ version: packageVersion() });
    return 0;
  }
  const { entry, rest } = findCommand(words);
  const own = ownWords(rest);
  if (own.includes('--help') || own.includes('-h') || words.length === 0) return await showHelp(words);
  if (entry === undefined)
    throw rest.length > 0 && !rest[0]!.startsWith('-')
      ? await unknownCommand(rest)
      : usageError('no command is given; `sluice --help` lists them');
  const given: Arguments = parseArguments(rest, entry.shape);
  const command = await entry.load();
  return await command({ shape: entry.shape, arguments: given, output });
}

async function main(words: readonly string[]): Promise<void> {
  enableCompileCache();
  const isSet = (name: string): boolean => ownWords(words).includes(name);
  const output = new Output({ json: isSet('--json'), verbose: isSet('--verbose'), out: process.stdout, err: process.stderr });
  let exitCode: number | undefined;
  const fail = async (error: unknown): Promise<number> => (await import('./failure.ts')).tellFailure(output, error);

  process.on('exit', () => {
    if (exitCode !== undefined) return;
    process.stderr.write('sluice: the work stopped before it was done, and nothing is left to wait for; please report this as a defect\n');
    process.exitCode = 1;
  });
  for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
    process.on(event, (error: unknown) => {
      void fail(error).then(async (code) => {
        exitCode = code;
        await output.end();
        process.exit(code);
      });
    });
  }
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      exitCode ??= 141; // as if by SIGPIPE: whoever read the answer has left
      process.exit(exitCode);
    });
  }

  const done = await perform(words, output).catch(fail);
  exitCode = done;
  await output.end();
  process.exit(done);
}

void main(process.argv.slice(2));
