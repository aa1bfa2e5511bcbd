import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, delimiter, dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { photograph } from './cli/photographs.ts';
import { ROOT, temporaryFolder } from './oriel.ts';

/**
 * The README's commands are run as a reader would: blocks fenced as `sh` by one bash, in order, in a
 * fresh copy of the repository with these photographs beside it. What a block leaves behind, a
 * folder, a variable, a process, the next one finds; the first command that fails fails the test.
 * Blocks fenced as `console` show a terminal and are not run.
 */
const PHOTOGRAPHS = ['photo-1.jpg', 'photo-2.jpg', 'drawing.png', 'photos/trip/photo-3.jpg'];

/** Ways to fence a command that would be neither run nor known to be left out. */
const UNCLEAR = ['', 'bash', 'shell', 'shellscript', 'zsh', 'fish', 'powershell'];

/**
 * Steps that are not taken again: whoever runs this test has taken them, CI just before it, or is
 * taking them now. The copy is a clone that has its dependencies, and `oriel` is on its path.
 */
const TAKEN =
  /^(git clone \S+|cd oriel|npm ci|npm (test|run check)|npm (link|install --global \.)|\.ci\/run)$/;

/** What a clone does not have. */
const LEFT_OUT = ['.git', 'node_modules', 'dist', 'coverage', 'data'];

/** A README as the bash script that it holds, every command on the line where the README has it. */
function scriptOf(readme: string): string {
  let fence: string | undefined;
  let language = '';
  const lines = readme.split('\n').map((line, index) => {
    const [, marks, name = ''] = /^\s*(`{3,})\s*(\S*)/.exec(line) ?? [];
    if (fence === undefined && marks !== undefined) {
      if (UNCLEAR.includes(name)) throw new Error(`line ${index + 1}: fence as sh or console`);
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
    return steps.some((step) => TAKEN.test(step))
      ? steps.map((step) => (TAKEN.test(step) ? ':' : step)).join(' && ')
      : line;
  });
  // The first line of a README is its title, which leaves room to name the line that fails.
  lines[0] = `trap 'echo "README.md:$LINENO: exit code $?" >&2' ERR`;
  return lines.join('\n');
}

/** A clone in a folder of its own, or in one that is given, installed and built. */
async function copyOfRepository(parent = temporaryFolder()): Promise<string> {
  const folder = join(parent, 'oriel');
  cpSync(ROOT, folder, {
    recursive: true,
    filter: (path) => !LEFT_OUT.includes(basename(path)),
  });
  cpSync(join(ROOT, 'dist'), join(folder, 'dist'), { recursive: true });
  // Packages are linked one by one: a command that empties node_modules then finds links only.
  for (const modules of ['node_modules', 'node_modules/.bin']) {
    mkdirSync(join(folder, modules));
    for (const name of readdirSync(join(ROOT, modules))) {
      if (name !== '.bin') symlinkSync(join(ROOT, modules, name), join(folder, modules, name));
    }
  }
  symlinkSync(join(folder, 'dist/bin/oriel.cjs'), join(folder, 'node_modules/.bin/oriel'));
  for (const [seed, name] of PHOTOGRAPHS.entries()) {
    const format = name.endsWith('.png') ? 'png' : 'jpeg';
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), await photograph(format, { width: 600, height: 400, seed }));
  }
  return folder;
}

interface Outcome {
  readonly code: number | null;
  /** All that was said, on standard output and standard error. */
  readonly log: string;
}

async function runReadme(folder: string, readme: string): Promise<Outcome> {
  const script = join(dirname(folder), 'README.md');
  writeFileSync(script, scriptOf(readme));
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !/^(ORIEL_|FORCE_COLOR$)/.test(name)),
  );
  const programs = [join(folder, 'node_modules', '.bin'), dirname(process.execPath), env['PATH']];
  const log = join(dirname(folder), 'log');
  const descriptor = openSync(log, 'w');
  // A group of its own, so that a daemon that a command left running can be ended with it.
  const child = spawn('bash', ['-euo', 'pipefail', script], {
    cwd: folder,
    env: {
      ...env,
      PATH: programs.join(delimiter),
      HOME: dirname(folder),
      TMPDIR: dirname(folder),
      NO_COLOR: '1',
    },
    stdio: ['ignore', descriptor, descriptor],
    detached: true,
  });
  closeSync(descriptor);
  try {
    const [code] = (await once(child, 'exit')) as [number | null];
    return { code, log: readFileSync(log, 'utf8') };
  } finally {
    try {
      process.kill(-child.pid!, 'SIGKILL');
    } catch {
      // Nobody was left.
    }
  }
}

function readmeWith(...blocks: string[]): string {
  return ['# Title', '', ...blocks].join('\n');
}

describe('the README', () => {
  it('shows commands that work', async () => {
    const folder = await copyOfRepository();
    // On a busy machine too, its daemon is to take what readers send.
    writeFileSync(join(folder, 'oriel.yaml'), 'overload: { eventLoopDelay: 1h }\n');
    const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
    const { code, log } = await runReadme(folder, readme);
    expect(code, log).toBe(0);
  }, 900_000);
});

describe('running a README', () => {
  // What one README does is in no other's way.
  let folder: string;
  beforeAll(async () => {
    folder = await copyOfRepository(mkdtempSync(join(tmpdir(), 'oriel-test-')));
  });
  afterAll(() => rmSync(dirname(folder), { recursive: true, force: true }));

  it('fails at the first command that fails, and names its line', async () => {
    const { code, log } = await runReadme(
      folder,
      readmeWith(
        '```sh',
        'oriel convert --format webp *.jpg',
        '```',
        '```sh',
        'oriel convert --format webp missing.jpg',
        'touch after',
        '```',
      ),
    );
    expect(code).toBe(1);
    expect(log).toContain('README.md:7: exit code 1\n');
    expect(existsSync(join(folder, 'photo-2.webp'))).toBe(true);
    expect(existsSync(join(folder, 'after'))).toBe(false);
  });

  it('fails where a command within a pipe fails', async () => {
    const { code, log } = await runReadme(folder, readmeWith('```sh', 'false | cat', '```'));
    expect({ code, log }).toEqual({ code: 1, log: 'README.md:4: exit code 1\n' });
  });

  it('keeps folder, variables and processes from one block to the next', async () => {
    const { code, log } = await runReadme(
      folder,
      readmeWith(
        '```sh',
        'cd photos/trip',
        'name=photo-3',
        'sleep 1000 &',
        '```',
        '',
        '- an item',
        '  ```sh',
        '  ls "$name.jpg"; kill -0 $!',
        '  ```',
      ),
    );
    expect({ code, log }).toEqual({ code: 0, log: 'photo-3.jpg\n' });
  });

  it('leaves out what only shows a terminal, and steps that were taken before', async () => {
    const { code, log } = await runReadme(
      folder,
      readmeWith(
        '```console',
        '$ exit 3',
        '```',
        '```json',
        '{}',
        '```',
        '```sh',
        'npm ci && echo ready   # once',
        'npm link',
        'echo done',
        '```',
      ),
    );
    expect({ code, log }).toEqual({ code: 0, log: 'ready\ndone\n' });
  });

  it('refuses a block that leaves open whether it is run', () => {
    expect(() => scriptOf(readmeWith('```', 'oriel --version', '```'))).toThrow('line 3: fence as');
    expect(() => scriptOf(readmeWith('```bash', 'oriel', '```'))).toThrow('line 3: fence as');
  });
});

describe('the table of operations', () => {
  function docs(...args: string[]) {
    const script = join(ROOT, '.ci', 'docs.mjs');
    return spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  }

  it('says what the registry says', () => {
    expect(docs('--check').stderr).toBe('');
  });

  it('is found out when it does not, and written anew', () => {
    const readme = join(temporaryFolder(), 'README.md');
    const stale = 'before\n<!-- operations:start -->\n| `gone` |\n<!-- operations:end -->\nafter\n';
    writeFileSync(readme, stale);
    const check = docs('--check', readme);
    expect({ status: check.status, readme: readFileSync(readme, 'utf8') }).toEqual({
      status: 1,
      readme: stale,
    });
    expect(check.stderr).toContain('npm run docs');
    expect(docs(readme).status).toBe(0);
    const written = readFileSync(readme, 'utf8');
    expect(written).toMatch(
      /^before\n.+\n\| `convert` +\| [^|]+ \| files +\| `batch-convert-images` +\|\n.+\nafter\n$/s,
    );
    expect(written).not.toContain('gone');
    expect(docs('--check', readme).status).toBe(0);
  });

  it('has to have a place', () => {
    const readme = join(temporaryFolder(), 'README.md');
    writeFileSync(readme, '<!-- operations:end --> <!-- operations:start -->');
    expect(docs('--check', readme)).toMatchObject({ status: 1 });
  });
});
