// Builds dist/: own code in bundles, because the daemon loads 600 modules and loading them one by one takes
// longer than everything else at its start. Packages stay outside, at the versions that are installed.
import { chmodSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, context } from 'esbuild';
import { consoleOptions } from './console.mjs';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));

const common = {
  platform: 'node',
  target: 'node20.19',
  outdir: 'dist',
  outbase: '.',
  logLevel: 'warning',
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
  packages: 'external',
  chunkNames: 'chunks/[name]-[hash]',
};
const binary = {
  ...common,
  entryPoints: ['bin/oriel.cts'],
  format: 'cjs',
  outExtension: { '.js': '.cjs' },
};

rmSync('dist', { recursive: true, force: true });
await Promise.all([build(modules), build(binary), build(consoleOptions)]);
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
