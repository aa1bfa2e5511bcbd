// Builds dist/: own code in bundles, because the daemon loads 600 modules and loading them one by one takes
// longer than everything else at its start. Packages of `dependencies` stay outside, at the versions that are installed.
import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, context } from 'esbuild';
import { consoleOptions } from './console.mjs';
import { mergeChunks } from './merge-chunks.mjs';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));

const { dependencies } = JSON.parse(readFileSync('package.json', 'utf8'));
const common = {
  platform: 'node',
  target: 'node20.19',
  outdir: 'dist',
  outbase: '.',
  logLevel: 'warning',
  metafile: true,
};
/** Loads the files that css-tree and csso name for browsers: the others read JSON beside them when they run. */
const withoutData = {
  name: 'without-data',
  setup({ onLoad }) {
    const filter = /[\\/]css(?:o|-tree)[\\/]lib[\\/](?:data|version)\.js$/;
    onLoad({ filter }, ({ path }) => {
      const file = join(dirname(dirname(path)), 'dist', basename(path));
      return { contents: readFileSync(file, 'utf8'), loader: 'js' };
    });
  },
};
/** Loads no `yaml` for the document of the API, which is JSON. */
const withoutYaml = {
  name: 'without-yaml',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^yaml$/ }, ({ importer }) =>
      importer.includes('fastify/swagger/') ? { path: 'yaml', namespace: 'none' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'none' }, () => ({ contents: '' }));
  },
};
/**
 * Requires packages in CommonJS, because Node reads the whole source of one that is imported, and of all files whose
 * exports it passes on, for the names of its exports: a tenth of the CPU of the daemon's start.
 */
const requiredPackages = {
  name: 'required-packages',
  setup({ onResolve, onLoad }) {
    const isCommonJs = (name) =>
      JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8')).type !== 'module';
    const names = new Set(Object.keys(dependencies).filter(isCommonJs));
    onResolve({ filter: /^[@a-z]/ }, ({ path, kind }) =>
      kind === 'import-statement' && names.has(path) ? { path, namespace: 'required' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'required' }, ({ path }) => {
      return { contents: `module.exports = require('${path}')` };
    });
  },
};
/**
 * Evaluates packages in CommonJS when they are first used: a daemon without a configuration file and most commands use
 * no `yaml`, and most daemons are never asked for the document of the API.
 */
const latePackages = {
  name: 'late-packages',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(yaml|@fastify\/swagger)$/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'late' } : undefined,
    );
    onLoad({ filter: /./, namespace: 'late' }, ({ path }) => {
      const define = (name) =>
        `${name}: { enumerable: true, get: () => require('${path}').${name} }`;
      const names = Object.keys(createRequire(import.meta.url)(path));
      return {
        contents: `Object.defineProperties(exports, { ${names.map(define)} })`,
        resolveDir: '.',
      };
    });
  },
};
const modules = {
  ...common,
  entryPoints: [
    'src/cli/main.ts',
    // The binary loads it before everything else.
    'src/libc.ts',
    // Only the files that threads and processes run: each further entry splits chunks that others share.
    ...['image', 'process', 'supervisor', 'text'].map((name) => `workers/${name}.ts`),
  ],
  format: 'esm',
  bundle: true,
  splitting: true,
  plugins: [withoutData, withoutYaml, latePackages, requiredPackages],
  // Packages of devDependencies that src imports become part of the bundles: an installation would get 40 MB more.
  external: Object.keys(dependencies),
  // CommonJS among them requires modules of Node. Merged chunks leave out what is pure and not used: 0.1 ms each.
  banner: {
    js: "import { createRequire as requireIn } from 'node:module'; const require = /* @__PURE__ */ (() => requireIn(import.meta.url))();",
  },
  chunkNames: 'chunks/[name]-[hash]',
};
const binary = {
  ...common,
  entryPoints: ['bin/oriel.cts'],
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
};

rmSync('dist', { recursive: true, force: true });
const built = await Promise.all([build(modules), build(binary), build(consoleOptions)]);
writeFileSync('dist/licenses.txt', licensesOf(built));
await mergeChunks(built[0].metafile, {
  // Other threads load no more than before.
  apart: ['workers/text.ts', 'workers/supervisor.ts'],
  groups: {
    images: ['workers/image.ts'],
    commands: ['src/cli/main.ts', 'src/cli/batch/image-run.ts'],
    // What any other command loads to find itself.
    others: ['src/cli/commands.ts'],
  },
  // No other command reads the code of the daemon.
  alone: { daemon: ['src/cli/daemon/serve-run.ts', 'src/cli/daemon/with-run.ts'] },
});
// Every module but the console's by its own name, for tests, benchmarks and generated documents.
if (process.argv.includes('--modules')) {
  const entryPoints = readdirSync('src', { recursive: true })
    .filter((path) => path.endsWith('.ts') && !path.startsWith(`console${sep}`))
    .map((path) => join('src', path));
  await build({ ...modules, entryPoints, outdir: 'test/.modules' });
}
chmodSync('dist/bin/oriel.cjs', 0o755);
if (process.argv.includes('--watch')) {
  for (const options of [modules, consoleOptions]) await (await context(options)).watch();
}

/** The licences of the packages that are part of the bundles. */
function licensesOf(results) {
  const inputs = results.flatMap(({ metafile }) => Object.keys(metafile.inputs));
  const packages = inputs.map((path) => /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1]);
  return [...new Set(packages)]
    .filter((folder) => folder !== undefined)
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
      const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
      const text = file === undefined ? '' : readFileSync(`${folder}/${file}`, 'utf8').trim();
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${'-'.repeat(80)}\n\n`);
}
