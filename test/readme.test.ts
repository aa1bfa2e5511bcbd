import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { flagFields, flagNames } from '../src/cli/command/command.ts';
import { COMMANDS } from '../src/cli/commands.ts';
import { ROOT, temporaryFolder } from './oriel.ts';
import { copyOfRepository, DOCUMENTS, type Outcome, runDocuments, scriptOf } from './readme.ts';

const documentWith = (...blocks: string[]): string => ['# Title', '', ...blocks].join('\n');

describe('running the commands of a document', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await copyOfRepository(mkdtempSync(join(tmpdir(), 'oriel-test-')));
  });
  afterAll(() => rmSync(dirname(folder), { recursive: true, force: true }));

  const run = (...blocks: string[]): Promise<Outcome> =>
    runDocuments(folder, { 'README.md': documentWith(...blocks) });

  it('fails at the first failing command and reports its line', async () => {
    const { code, log } = await run(
      '```sh',
      'oriel convert --format webp *.jpg',
      '```',
      '```sh',
      'oriel convert --format webp missing.jpg',
      'touch after',
      '```',
    );
    expect(code).toBe(1);
    expect(log).toContain('README.md:7: exit code 1\n');
    expect(existsSync(join(folder, 'photo-2.webp'))).toBe(true);
    expect(existsSync(join(folder, 'after'))).toBe(false);
  });

  it('fails when a command within a pipe fails', async () => {
    const { code, log } = await run('```sh', 'false | cat', '```');
    expect({ code, log }).toEqual({ code: 1, log: 'README.md:4: exit code 1\n' });
  });

  it('keeps folder, variables and processes between blocks and documents', async () => {
    const first = documentWith('```sh', 'cd photos/trip', 'name=photo-3', 'sleep 1000 &', '```');
    const second = ['- an item', '  ```sh', '  ls "$name.jpg"; kill -0 $!', '  ```'].join('\n');
    const documents = { 'README.md': first, 'below/README.md': `${second}\n\n${second}` };
    const { code, log } = await runDocuments(folder, documents);
    expect({ code, log }).toEqual({ code: 0, log: 'photo-3.jpg\nphoto-3.jpg\n' });
  });

  it('names the document of a failing command', async () => {
    const documents = {
      'README.md': documentWith('```sh', 'cd photos', '```'),
      'below/README.md': documentWith('', '```sh', 'oriel accounts show nobody', '```'),
    };
    expect(await runDocuments(folder, documents)).toEqual({
      code: 1,
      log: expect.stringMatching(/^oriel: .+\nbelow\/README\.md:5: exit code 1\n$/),
    });
  });

  it('skips console blocks and steps of the installation', async () => {
    const { code, log } = await run(
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
    );
    expect({ code, log }).toEqual({ code: 0, log: 'ready\ndone\n' });
  });

  it('rejects a fence without language, or with another shell than sh', () => {
    expect(() => scriptOf(documentWith('```', 'oriel --version', '```'))).toThrow(
      'line 3: fence as',
    );
    expect(() => scriptOf(documentWith('```bash', 'oriel', '```'))).toThrow('line 3: fence as');
  });
});

describe('generated parts of documents', () => {
  function docs(...args: string[]) {
    const script = join(ROOT, '.ci', 'docs.mjs');
    return spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });
  }

  it('are up to date', () => {
    expect(docs('--check').stderr).toBe('');
  });

  it('that are out of date fail the check and are written anew', () => {
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

  it('need their markers in order', () => {
    const readme = join(temporaryFolder(), 'README.md');
    writeFileSync(readme, '<!-- operations:end --> <!-- operations:start -->');
    expect(docs('--check', readme)).toMatchObject({ status: 1 });
  });
});

it('the README has at most 12 KB', () => {
  expect(statSync(join(ROOT, 'README.md')).size).toBeLessThanOrEqual(12 * 1024);
});

/** Anchors of the headings of a document, as GitHub makes them. */
function anchorsOf(markdown: string): string[] {
  const text = markdown.replace(/^ *```[\s\S]*?^ *```$/gm, '');
  return Array.from(text.matchAll(/^#+ (.+)$/gm), ([, heading]) =>
    heading!
      .replace(/\[([^\]]+)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Commands of oriel in a document: in blocks, and as whole code spans. */
function commandsOf(markdown: string): string[] {
  const blocks = Array.from(markdown.matchAll(/^ *```(?:sh|console)\n([\s\S]*?)^ *```$/gm));
  const lines = blocks.flatMap(([, text]) => text!.replaceAll('\\\n', ' ').split('\n'));
  const spans = Array.from(markdown.matchAll(/`(oriel [^`\n]+)`/g), ([, span]) => span!);
  return [...lines, ...spans]
    .flatMap((line) => line.replace(/^\$ /, '').split(/&&|\||;|\$\(|>| -- /))
    .map((part) => part.trim())
    .filter((part) => part.startsWith('oriel '));
}

/** Words of a command line of oriel that its parser would refuse: commands and flags. */
function unknownWords(line: string): string[] {
  const [, ...words] = line.replace(/"[^"]*"|'[^']*'/g, 'X').split(/\s+/);
  const [name = '', ...rest] = words;
  if (name === 'help' || name.startsWith('-')) return [];
  let command = COMMANDS.find((one) => one.name === name);
  if (command === undefined) return [name];
  for (const word of rest) {
    command = command.subcommands?.find((one) => one.name === word) ?? command;
  }
  const known = (command.flags ?? []).flatMap((group) => flagFields(group).flatMap(flagNames));
  const flags = rest.filter((word) => /^--?[a-z]/.test(word)).map((word) => word.split('=')[0]!);
  return flags.filter((flag) => ![...known, '--help'].includes(flag));
}

it.each([
  ['oriel convert --format webp photo.jpg', []],
  ['oriel providers add x --key=- --tset', ['--tset']],
  ['oriel conect', ['conect']],
])('%s has the unknown words %j', (line, words) => {
  expect(unknownWords(line)).toEqual(words);
});

describe.each([
  ...DOCUMENTS,
  'CHANGELOG.md',
  'config/ci/README.md',
  'config/nodes/README.md',
  'src/clients/README.md',
  'src/console/README.md',
  'test/gallery/README.md',
])('%s', (name) => {
  const markdown = readFileSync(join(ROOT, name), 'utf8');
  /** Files of the repository that it links to, with the anchors. */
  const linked = Array.from(markdown.matchAll(/\]\(([^)\s]+)\)/g), ([, target]) => target!)
    .filter((target) => !/^https?:/.test(target))
    .map((target) => {
      const [path = '', anchor] = target.split('#');
      return [path === '' ? name : join(dirname(name), path), anchor] as const;
    });

  it('links only to files that exist', () => {
    const targets = linked.map(([path]) => path);
    expect(targets.filter((target) => !existsSync(join(ROOT, target)))).toEqual([]);
  });

  it('links only to headings that exist', () => {
    const missing = linked.filter(([path, anchor]) => {
      if (anchor === undefined || !path.endsWith('.md')) return false;
      return !anchorsOf(readFileSync(join(ROOT, path), 'utf8')).includes(anchor);
    });
    expect(missing).toEqual([]);
  });

  it('has only commands and flags that exist', () => {
    const faults = commandsOf(markdown).filter((line) => unknownWords(line).length > 0);
    expect(faults).toEqual([]);
  });

  it('names only scripts that package.json has', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const named = Array.from(markdown.matchAll(/\bnpm run ([\w:-]+)/g), ([, script]) => script!);
    expect(named.filter((script) => scripts[script] === undefined)).toEqual([]);
  });

  it('names only files and folders of the repository that exist', () => {
    // Parts in capitals are placeholders: `src/operations/NAME.ts`.
    const paths = Array.from(
      markdown.matchAll(/`((?:\.ci|bin|config|src|test|workers)\/[\w./-]*)`/g),
      ([, path]) => path!,
    ).filter((path) => !/\/[A-Z]+(\.[\w.]+|\/|$)/.test(path));
    expect(paths.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});
