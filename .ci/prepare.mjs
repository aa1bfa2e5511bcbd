// Builds a clone when npm installs it (the `prepare` script). `npm install --global .` only links the
// clone: it installs no dependencies, so they are installed here, esbuild among them. A package
// from a tarball is built already and does not hold this file.
import { execSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

process.chdir(dirname(dirname(fileURLToPath(import.meta.url))));

// Options of the outer npm (--global, --prefix, --omit) must not apply to the inner one.
const env = Object.fromEntries(
  Object.entries(process.env).filter(
    ([name]) =>
      !/^npm_config_(global|location|prefix|local_prefix|omit|production|only)$/i.test(name),
  ),
);
const run = (command) => execSync(command, { stdio: 'inherit', env });

if (!existsSync('node_modules')) {
  // Runs this script again, which then builds.
  run('npm ci --include=dev --no-audit --no-fund');
} else if (existsSync('node_modules/esbuild')) {
  run('npm run --silent build');
} else {
  console.error('oriel: not built, because development dependencies are missing; run npm ci');
}
