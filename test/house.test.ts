import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { globSync } from 'tinyglobby';
import { describe, expect, it, test } from 'vitest';
import { parseAst } from 'vitest/node';
import { ISOLATED, POOLS } from '../vitest.config.ts';
import { ROOT } from './oriel.ts';

/** Floors from the top down. A file imports from its own folder and from folders on lower floors. */
const FLOORS: readonly (readonly string[])[] = [
  ['bin'],
  // Runs in browsers.
  ['console'],
  ['cli'],
  ['app'],
  ['http'],
  ['batches'],
  ['text', 'media', 'workers', 'backup'],
  ['assets', 'alerts'],
  ['routing'],
  ['telemetry'],
  ['administration', 'operations'],
  ['config'],
  ['images', 'safety', 'exchanges'],
  ['store', 'upstream', 'threads'],
  ['schema', 'utf8'],
  ['failure', 'fair-semaphore', 'maps', 'libc', 'folders', 'temporary', 'clients'],
  ['error-codes', 'warning-codes', 'flow', 'words'],
];

/** Files and folders that may import a library. Names of folders and scopes end with a slash. */
const OWNERS: Readonly<Record<string, readonly string[]>> = {
  // The cache only reads its version.
  sharp: ['workers/', 'src/operations/cache/result-keys.ts'],
  piscina: ['src/threads/threads.ts', 'workers/'],
  archiver: ['src/operations/batch/zip.ts'],
  commander: ['src/cli/command/build-command.ts', 'src/cli/main.ts'],
  tinyglobby: ['src/cli/'],
  'string-width': ['src/cli/'],
  fastify: ['src/http/'],
  '@fastify/': ['src/http/'],
  ws: ['src/http/sockets/'],
  undici: ['src/upstream/'],
  'ipaddr.js': ['src/upstream/', 'src/http/transport/addresses.ts'],
  standardwebhooks: ['src/upstream/'],
  aws4: ['src/upstream/aws/signature.ts'],
  sixel: ['src/cli/terminal/'],
  ioredis: ['src/http/limits/'],
  pino: ['src/http/observability/log.ts'],
  'pino-pretty': ['src/http/observability/log.ts'],
  'prom-client': ['src/http/observability/metric-registry.ts', 'src/http/observability/metrics.ts'],
  yaml: ['src/config/'],
  lowdb: ['src/store/drivers/lowdb/'],
  pg: ['src/store/drivers/postgres/'],
  preact: ['src/console/'],
  koffi: ['src/libc.ts'],
  'gpt-tokenizer': ['src/threads/count-tokens.ts'],
  svgo: ['src/images/encoding/minify-svg.ts'],
  ccv: ['src/images/focus/faces.ts'],
  thumbhash: ['src/operations/tools/placeholder.ts'],
  // Not imported: they are dependencies only to pin their versions.
  'light-my-request': [],
  'strip-json-comments': [],
  // Entries of threads and processes are opened by the pool alone.
  '#workers/': ['src/operations/pool/pool.ts'],
};

/** Folders that one file imports from, beside their own files. */
const PRIVATE_FOLDERS: Readonly<Record<string, string>> = {
  'src/store/drivers/lowdb/': 'src/store/drivers/open.ts',
  'src/store/drivers/postgres/': 'src/store/drivers/open.ts',
  'src/assets/disk/': 'src/assets/open.ts',
  'src/assets/s3/': 'src/assets/open.ts',
};

/** Libraries whose types may be imported everywhere. */
const TYPES_ANYWHERE = ['sharp', '#workers/', 'pino'];

/** Libraries that every file may import: options are declared where they are used. */
const ANYWHERE = ['valibot', '@valibot/to-json-schema'];

/** Rooms that pages run too. They import nothing but their own files. */
const FOR_PAGES = ['clients'];

/** The one file with computed imports. */
const COMPUTED = 'src/operations/pool/pool.ts';

interface Import {
  /** Name of the module; null if it is computed. */
  readonly specifier: string | null;
  readonly line: number;
  readonly typeOnly: boolean;
}

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [key: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string';

function text(node: unknown): string | null {
  return isNode(node) && typeof node['value'] === 'string' ? node['value'] : null;
}

function owned(specifier: string): string | undefined {
  return Object.keys(OWNERS).find((name) =>
    name.endsWith('/')
      ? specifier.startsWith(name)
      : specifier === name || specifier.startsWith(`${name}/`),
  );
}

/** Every imported module of a file: statements, `import()`, `require()` and types. */
function importsOf(source: string, lang: 'ts' | 'tsx'): Import[] {
  const found: Import[] = [];
  const add = (node: Node, specifier: string | null, typeOnly: boolean) => {
    found.push({ specifier, typeOnly, line: source.slice(0, node.start).split('\n').length });
  };
  const visit = (node: Node) => {
    if (node.type === 'ImportDeclaration' || node.type === 'ImportExpression') {
      add(node, text(node['source']), node['importKind'] === 'type');
    } else if (node.type.startsWith('Export') && node['source']) {
      add(node, text(node['source']), node['exportKind'] === 'type');
    } else if (node.type === 'TSImportType') {
      add(node, text(node['source']), true);
    } else if (node.type === 'TSExternalModuleReference') {
      add(node, text(node['expression']), false);
    } else if (node.type === 'CallExpression') {
      // A require of createRequire may have any name, so calls with a library's name count as well.
      const specifier = text((node['arguments'] as unknown[])[0]);
      const required = isNode(node['callee']) && node['callee']['name'] === 'require';
      if (specifier !== null && (required || owned(specifier))) add(node, specifier, false);
    }
    for (const value of Object.values(node)) {
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child);
    }
  };
  visit(parseAst(source, { lang }) as unknown as Node);
  return found;
}

function room(path: string): string | undefined {
  const [folder = '', entry = ''] = path.split('/');
  return folder === 'src' ? entry.replace(/\.[jt]s$/, '') : folder;
}

function floor(path: string): number {
  return FLOORS.findIndex((rooms) => rooms.includes(room(path) ?? ''));
}

/** The violation of one import of one file, or null. */
function violation(file: string, { specifier, typeOnly }: Import): string | null {
  if (specifier === null) {
    return file === COMPUTED ? null : `only ${COMPUTED} may have computed imports`;
  }
  const library = owned(specifier);
  if (library !== undefined) {
    const owners = OWNERS[library]!;
    if (typeOnly && TYPES_ANYWHERE.includes(library)) return null;
    return owners.some((owner) => (owner.endsWith('/') ? file.startsWith(owner) : file === owner))
      ? null
      : `only ${owners.join(', ')} may import ${specifier}`;
  }
  if (FOR_PAGES.includes(room(file)!) && !specifier.startsWith('./')) {
    return `pages run ${room(file)}: it imports nothing else`;
  }
  if (!specifier.startsWith('.') || specifier.endsWith('/package.json')) return null;
  const target = join(dirname(file), specifier);
  for (const [folder, importer] of Object.entries(PRIVATE_FOLDERS)) {
    if (!target.startsWith(folder) || file.startsWith(folder) || file === importer) continue;
    return `only ${importer} imports from ${folder}`;
  }
  if (room(target) === room(file)) return null;
  if (room(file) === 'console' && !typeOnly && !FOR_PAGES.includes(room(target)!)) {
    return 'the console imports only types of the server';
  }
  if (room(target) === 'workers') return `${specifier} must be imported as #workers/`;
  if (floor(target) === -1) return `${specifier} is on no floor`;
  return floor(target) > floor(file) ? null : `${specifier} is not on a lower floor`;
}

function violations(file: string, source: string): string[] {
  if (floor(file) === -1) return [`${file}: on no floor`];
  return importsOf(source, file.endsWith('.tsx') ? 'tsx' : 'ts').flatMap((found) => {
    const wrong = violation(file, found);
    return wrong === null ? [] : [`${file}:${found.line}: ${wrong}`];
  });
}

const files = ['bin', 'src', 'workers'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.[cm]?tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length)),
);

describe('imports', () => {
  test.each(files)('of %s go down, to owned libraries only', (file) => {
    expect(violations(file, readFileSync(join(ROOT, file), 'utf8'))).toEqual([]);
  });

  it.each([
    ['a module of an upper floor', 'src/operations/x.ts', "import { a } from '../cli/a.ts';"],
    ['a type of an upper floor', 'src/schema/x.ts', "import type { A } from '../config/a.ts';"],
    [
      'an inline import type of an upper floor',
      'src/schema/x.ts',
      "type A = import('../config/a.ts').A;",
    ],
    ['another folder of the same floor', 'src/text/x.ts', "import { a } from '../media/a.ts';"],
    ['a re-export', 'src/store/x.ts', "export { a } from '../operations/a.ts';"],
    ['a re-export of all', 'src/store/x.ts', "export * from '../operations/a.ts';"],
    ['a lazy import', 'src/http/x.ts', "const a = await import('../cli/a.ts');"],
    [
      'a lazy import from a deep folder',
      'src/media/providers/x.ts',
      "import('../../app/daemon.ts');",
    ],
    ['a require', 'src/http/x.cts', "const a = require('../cli/a.js');"],
    ['an import equals', 'src/http/x.cts', "import a = require('../cli/a.js');"],
    ['a computed import', 'src/cli/x.ts', 'await import(name);'],
    ['a worker by its path', 'src/http/x.ts', "import '../../workers/image.ts';"],
    ['a worker outside of the pool', 'src/http/x.ts', "import '#workers/image.js';"],
    ['code of the server in a page', 'src/console/x.ts', "import { a } from '../http/a.ts';"],
    ['anything in a room that pages run', 'src/clients/x.ts', "import { a } from '../failure.ts';"],
    ['a test', 'src/cli/x.ts', "import { oriel } from '../../test/oriel.ts';"],
    ['anything in a file on no floor', 'src/utils.ts', ''],
    ['sharp outside of workers', 'src/operations/x.ts', "import sharp from 'sharp';"],
    ['sharp by an inline type specifier', 'src/cli/x.ts', "import { type Sharp } from 'sharp';"],
    ['sharp by a lazy import', 'src/cli/x.ts', "const { default: sharp } = await import('sharp');"],
    ['sharp by require', 'src/cli/x.ts', "const sharp = createRequire(import.meta.url)('sharp');"],
    ['sharp by a renamed require', 'src/cli/x.ts', "load('sharp');"],
    ['a subpath of a library', 'src/store/x.ts', "import { JSONFile } from 'lowdb/node';"],
    ['a package of an owned scope', 'src/app/x.ts', "import multipart from '@fastify/multipart';"],
    [
      'a store driver outside of drivers/open.ts',
      'src/store/x.ts',
      "import { a } from './drivers/lowdb/a.ts';",
    ],
    [
      'a store driver in the daemon',
      'src/app/x.ts',
      "import { a } from '../store/drivers/lowdb/a.ts';",
    ],
    ['a type of an owned library', 'src/app/x.ts', "import type { Command } from 'commander';"],
  ])('of %s are rejected', (_, file, source) => {
    expect(violations(file, `\n${source}`)).toEqual([expect.stringMatching(/^src\/[^:]+(:2)?: /)]);
  });

  it.each([
    ['bin/x.cts', "import('../src/cli/main.js'); require('../../package.json');"],
    ['src/cli/main.ts', "import { Command } from 'commander'; import '../failure.ts';"],
    ['src/cli/x.ts', "import { a } from './a.ts'; import { b } from '../app/daemon.ts';"],
    [
      'src/operations/x.ts',
      "import type { Sharp } from 'sharp'; import { join } from 'node:path';",
    ],
    [
      'src/media/x.ts',
      "import { a } from '../operations/a.ts'; import { b } from '../store/b.ts';",
    ],
    [
      'src/media/providers/x.ts',
      "import { a } from '../sizes.ts'; import '../../upstream/client.ts';",
    ],
    ['src/operations/pool/pool.ts', "type A = typeof import('#workers/image.js'); import(name);"],
    ['src/store/drivers/open.ts', "import { a } from './lowdb/a.ts';"],
    ['src/console/x.ts', "import { a } from '../clients/a.ts';"],
    ['workers/x.ts', "createRequire(import.meta.url)('sharp'); import '../src/operations/a.ts';"],
  ])('of %s are accepted: %s', (file, source) => {
    expect(violations(file, source)).toEqual([]);
  });

  it('have an owner for every dependency', () => {
    const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
      dependencies: Record<string, string>;
    };
    const unowned = Object.keys(manifest.dependencies).filter(
      (name) => owned(name) === undefined && !ANYWHERE.includes(name),
    );
    expect(unowned).toEqual([]);
  });
});

/** Folders that import each other, directly or through further ones. */
function circularFolders(sources: ReadonlyMap<string, string>): string[] {
  const imports = new Map<string, Set<string>>();
  for (const [file, source] of sources) {
    const folder = dirname(file);
    const targets = imports.get(folder) ?? new Set();
    for (const { specifier } of importsOf(source, file.endsWith('.tsx') ? 'tsx' : 'ts')) {
      if (specifier?.startsWith('.')) targets.add(dirname(join(folder, specifier)));
    }
    targets.delete(folder);
    imports.set(folder, targets);
  }
  // A folder is in no circle if none of the others that are left imports it, or if it imports none of them.
  for (let before = 0; before !== imports.size; ) {
    before = imports.size;
    for (const [folder, targets] of imports) {
      const isImported = [...imports.values()].some((others) => others.has(folder));
      if (!isImported || ![...targets].some((target) => imports.has(target))) {
        imports.delete(folder);
      }
    }
  }
  return [...imports.keys()].toSorted();
}

describe('folders', () => {
  const sources = files
    .filter((file) => file.startsWith('src/'))
    .map((file) => [file, readFileSync(join(ROOT, file), 'utf8')] as const);

  test('import each other in one direction', () => {
    expect(circularFolders(new Map(sources))).toEqual([]);
  });

  test.each([
    ['a folder and its parent', ['src/a/x.ts', './b/y.ts'], ['src/a/b/y.ts', '../z.ts']],
    ['two folders', ['src/a/b/x.ts', '../c/y.ts'], ['src/a/c/y.ts', '../b/z.ts']],
    [
      'three folders',
      ['src/a/b/x.ts', '../c/y.ts'],
      ['src/a/c/y.ts', '../d/z.ts'],
      ['src/a/d/z.ts', '../b/x.ts'],
    ],
  ])('of a circle are found: %s', (_, ...imported) => {
    const circle = imported.map(([file, path]) => [file!, `import { a } from '${path}';`] as const);
    const above = ['src/a/top.ts', `import { a } from './${circle[0]![0].slice(6)}';`] as const;
    const folders = new Set(circle.map(([file]) => dirname(file)));
    expect(circularFolders(new Map([...circle, above]))).toEqual([...folders].toSorted());
  });
});

/** Whether a test file, or a file of tests that it imports, contains a call. */
function calls(call: RegExp, file: string, seen = new Set<string>()): boolean {
  if (!file.startsWith('test/') || seen.has(file)) return false;
  seen.add(file);
  const source = readFileSync(join(ROOT, file), 'utf8');
  const imports = source.matchAll(/^(?:import |\} )[^\n]*from '(\.[^'\n]+)';$/gm);
  const paths = [...imports].map(([, path]) => join(dirname(file), path!));
  return call.test(source) || paths.some((path) => calls(call, path, seen));
}

describe('tests that change what others of their process see are in the group of', () => {
  const all = globSync('test/**/*.test.ts', { cwd: ROOT }).toSorted();
  test.each([
    ['ISOLATED', /vi\.mock\(|registerDialect\(|startPool\(|terminal\/encode-image/, ISOLATED],
    ['POOLS', /(inline|startShared)Pool\(/, [...POOLS, ...ISOLATED]],
  ])('%s of vitest.config.ts', (_, call, group) => {
    const grouped = new Set(globSync(group, { cwd: ROOT, ignore: 'test/**/*.long.test.ts' }));
    const names = all.filter((file) => file !== 'test/house.test.ts' && calls(call, file));
    expect(names.filter((file) => !grouped.has(file))).toEqual([]);
  });
});

const FOLDERS = ['bin', 'config', 'docs', 'src', 'test', 'workers'];
const DOCUMENTS = [
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'DECISIONS.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
];
const TOOLS =
  /^(package(-lock)?|tsconfig(\.\w+)?|biome|knip)\.json$|^vitest\.config\.ts$|^action\.yml$/;

/** Turns a line of .gitignore (a name, perhaps with `*`) into a regular expression. */
function ignores(line: string): RegExp {
  const name = line.trim().replace(/\/$/, '');
  return new RegExp(`^${name.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`);
}

test('the repository root has only known folders, documents and configuration of tools', () => {
  const ignored = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n').map(ignores);
  const unknown = readdirSync(ROOT).filter(
    (name) =>
      !name.startsWith('.') &&
      !FOLDERS.includes(name) &&
      !DOCUMENTS.includes(name) &&
      !TOOLS.test(name) &&
      !ignored.some((pattern) => pattern.test(name)),
  );
  expect(unknown).toEqual([]);
});
