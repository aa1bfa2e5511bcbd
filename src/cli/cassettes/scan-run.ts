import { loadConfig } from '../../config/loading/load.ts';
import { secretsOf } from '../../config/providers/provider-kinds.ts';
import { scanFolder } from '../../exchanges/cassettes/scan.ts';
import { Failure } from '../../failure.ts';
import { printable } from '../../operations/batch/filename.ts';
import { type CommandInput, readFlags } from '../command/command.ts';
import { counted, print, printJson } from '../terminal/terminal.ts';
import { scanFlags } from './cassette-flags.ts';
import '../../text/built-in-dialects.ts';

const SECRET_NAME = /KEY|TOKEN|SECRET|PASSWORD/i;

/** Shorter values of variables may be words. */
const MIN_LENGTH = 12;

/** @returns the exit code: 1 where a secret may be in a file */
export async function runScan({ positionals: [folder], flags }: CommandInput): Promise<number> {
  const { config: file, json } = readFlags(scanFlags, flags);
  const env = process.env;
  const { config } = loadConfig({ file, env, cwd: process.cwd(), isReplay: true });
  const variables = Object.entries(env).flatMap(([name, value = '']) =>
    SECRET_NAME.test(name) && value.length >= MIN_LENGTH ? [value] : [],
  );
  const known = [...Object.values(config.providers).flatMap(secretsOf), ...variables];
  const findings = findingsIn(String(folder), known);
  if (json) await printJson({ findings });
  else {
    for (const { file, line, excerpt } of findings) {
      await print(`${printable(`${file}:${line}: ${excerpt}`)}\n`);
    }
    const count = findings.length === 0 ? 'no secret' : counted(findings.length, 'possible secret');
    await print(`${count} found\n`);
  }
  return findings.length > 0 ? 1 : 0;
}

function findingsIn(folder: string, known: readonly string[]) {
  try {
    return [
      ...scanFolder(
        folder,
        known.filter(({ length }) => length >= 8),
      ),
    ];
  } catch (cause) {
    const message = `${folder}: the folder of cassettes cannot be read: ${(cause as Error).message}`;
    throw new Failure('invalid_request', message, { code: 'cassette_folder', cause });
  }
}
