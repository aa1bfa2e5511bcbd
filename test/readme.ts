import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { basename, delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import { photograph } from './cli/photographs.ts';
import { listening } from './fixtures/server.ts';
import { NODE_FLAGS } from './node-flags.ts';
import { ROOT, temporaryFolder, words } from './oriel.ts';
import { residentCommand } from './resident.ts';

/**
 * Documents whose commands run, in this order: blocks fenced as `sh` run in one bash, in a fresh copy of
 * the repository with the PHOTOGRAPHS. Folder, variables and processes of a block remain for the next
 * one; the first command that fails fails the run. Blocks fenced as `console` show a terminal and do not
 * run.
 */
export const DOCUMENTS = words`README.md src/operations/README.md src/http/README.md src/text/README.md src/media/README.md
  src/exchanges/README.md src/alerts/README.md config/README.md test/bench/README.md SECURITY.md
  CONTRIBUTING.md DECISIONS.md docs/start.md docs/providers.md docs/images.md docs/image-urls.md
  docs/production.md docs/scale.md docs/comparison.md`;

const PHOTOGRAPHS = ['photo-1.jpg', 'photo-2.jpg', 'drawing.png', 'photos/trip/photo-3.jpg'];

/** Languages of a fence that do not show whether its commands run. */
const AMBIGUOUS = ['', 'bash', 'shell', 'shellscript', 'zsh', 'fish', 'powershell'];

/**
 * Steps that are replaced by `:`, because they run before or around this test. The copy is a clone with
 * its dependencies, and `oriel` is on its path.
 */
const PREPARED =
  /^(git clone \S+|cd oriel|npm ci|npm (test|run check)|npm (link|install --global \.)|\.ci\/run)$/;

/** Names of files that a fresh clone does not have. */
const LEFT_OUT = ['.git', 'node_modules', 'dist', 'coverage', 'data', '.out'];

/** Pictures that one command of the README would encode, because it takes all that it finds. */
const PICTURES = /\/test\/gallery\/.*\.(webp|png|jpg)$/;

/** The commands of a Markdown document as a bash script, each on the line that it has in the document. */
export function scriptOf(markdown: string): string {
  let fence: string | undefined;
  let language = '';
  const lines = markdown.split('\n').map((line, index) => {
    const [, marks, name = ''] = /^\s*(`{3,})\s*(\S*)/.exec(line) ?? [];
    if (fence === undefined && marks !== undefined) {
      if (AMBIGUOUS.includes(name)) throw new Error(`line ${index + 1}: fence as sh or console`);
      fence = marks;
      language = name;
      return '';
    }
    if (marks === fence) {
      fence = undefined;
      return '';
    }
    if (fence === undefined || language !== 'sh') return '';
    const steps = line
      .replace(/\s+#.*/, '')
      .split('&&')
      .map((step) => step.trim());
    return steps.some((step) => PREPARED.test(step))
      ? steps.map((step) => (PREPARED.test(step) ? ':' : step)).join(' && ')
      : line;
  });
  return lines.join('\n');
}

/** A clone, installed and built, in a folder of its own below `parent`. */
export async function copyOfRepository(parent = temporaryFolder()): Promise<string> {
  const folder = join(parent, 'oriel');
  cpSync(ROOT, folder, {
    recursive: true,
    filter: (path) => !LEFT_OUT.includes(basename(path)) && !PICTURES.test(path),
  });
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
  // It is built: another test builds a fresh clone.
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  manifest.scripts.build = 'true';
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  // Packages are linked one by one: a command that empties node_modules then finds links only.
  for (const modules of ['node_modules', 'node_modules/.bin']) {
    mkdirSync(join(folder, modules));
    for (const name of readdirSync(join(ROOT, modules))) {
      if (name !== '.bin') symlinkSync(join(ROOT, modules, name), join(folder, modules, name));
    }
  }
  const oriel = `exec node ${NODE_FLAGS.join(' ')} '${folder}/dist/bin/oriel.cjs' "$@"`;
  writeFileSync(join(folder, 'node_modules/.bin/oriel'), `#!/bin/sh\n${oriel}\n`, { mode: 0o755 });
  for (const [seed, name] of PHOTOGRAPHS.entries()) {
    const format = name.endsWith('.png') ? 'png' : 'jpeg';
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), await photograph(format, { width: 320, height: 240, seed }));
  }
  return folder;
}

export interface Outcome {
  readonly code: number | null;
  /** Standard output and standard error. */
  readonly log: string;
}

const resident = residentCommand();

/**
 * Commands that one process runs for all documents, because each of them takes longer to start than to run. They read
 * no standard input.
 */
const RESIDENT = words`accounts audit check compare config crop duplicates favicon hash keys levels
  metadata models montage optimize overlay providers recipe requests resize rotate round run size-map
  srcset teams tint usage`;

/** Lines of bash that define `oriel`, whose RESIDENT commands write to files of a folder. */
async function commandIn(folder: string): Promise<string> {
  const server = createServer(async (request, response) => {
    const [cwd = '', count, ...texts] = (await text(request)).split('\0');
    const pairs = texts.slice(Number(count), -1).map((pair) => /^([^=]*)=(.*)$/s.exec(pair)!);
    const env = Object.fromEntries([
      ...Object.keys(process.env).map((name) => [name, undefined]),
      ...pairs.map(([, name, value]) => [name, value]),
    ]);
    const run = await resident(texts.slice(0, Number(count)), { cwd, env });
    writeFileSync(join(folder, 'out'), run.stdout);
    writeFileSync(join(folder, 'err'), run.stderr);
    response.end(String(run.code));
  });
  return `oriel() {
    case $1 in ${RESIDENT.join('|')}) ;; *) command oriel "$@" || return; return ;; esac
    local code
    code=$({ printf '%s\\0' "$PWD" "$#" "$@"; env -0; } | curl -s --data-binary @- ${await listening(server)})
    cat '${folder}/out'
    cat '${folder}/err' >&2
    return "$code"
  }`;
}

/** Runs documents, given by name, in a copy of the repository, until they end or the running test does. */
export async function runDocuments(
  folder: string,
  documents: Readonly<Record<string, string>>,
): Promise<Outcome> {
  const parent = dirname(folder);
  const scripts = join(parent, 'scripts');
  const sources = Object.entries(documents).map(([name, markdown]) => {
    const script = join(scripts, name);
    mkdirSync(dirname(script), { recursive: true });
    writeFileSync(script, scriptOf(markdown));
    return `source '${script}'`;
  });
  // A failing command is reported by document and line, as `README.md:7`.
  const trap = `trap 'echo "\${BASH_SOURCE[0]#${scripts}/}:$LINENO: exit code $?" >&2' ERR`;
  const main = join(parent, 'main.sh');
  writeFileSync(main, [trap, await commandIn(parent), ...sources, ''].join('\n'));
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(ORIEL_|FORCE_COLOR$)/.test(name)),
  );
  const programs = [join(folder, 'node_modules', '.bin'), dirname(process.execPath), env['PATH']];
  const log = join(parent, 'log');
  const descriptor = openSync(log, 'w');
  // A process group of its own, so that daemons that the commands started end with it.
  const child = spawn('bash', ['-euo', 'pipefail', main], {
    cwd: folder,
    env: { ...env, PATH: programs.join(delimiter), HOME: parent, TMPDIR: parent, NO_COLOR: '1' },
    stdio: ['ignore', descriptor, descriptor],
    detached: true,
  });
  closeSync(descriptor);
  const ended = once(child, 'exit') as Promise<[number | null]>;
  // A test that fails meanwhile ends the commands too. Their bash still runs its EXIT trap.
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) process.kill(-child.pid!, 'SIGTERM');
    await ended;
  });
  try {
    const [code] = await ended;
    return { code, log: readFileSync(log, 'utf8') };
  } finally {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // No process of the group is left.
    }
  }
}
