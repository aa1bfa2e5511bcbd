import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writePhotographs } from './cli/photographs.ts';
import { cloneWithPackages, IS_CLONE } from './clone.ts';
import { ROOT, shell, temporaryFolder } from './oriel.ts';

/** Milliseconds; npm may have to download packages. */
const INSTALL_TIMEOUT = 600_000;

const REGISTRY = spawnSync('npm', ['ping'], { stdio: 'ignore' }).status === 0;

/** An environment in which npm installs globally below a folder, without settings of an outer npm. */
function environment(prefix: string): Record<string, string | undefined> {
  const inherited = Object.keys(process.env).filter((name) => /^npm_(?!config_cache$)/i.test(name));
  return {
    ...Object.fromEntries(inherited.map((name) => [name, undefined])),
    NODE_ENV: undefined,
    npm_config_prefix: prefix,
    npm_config_prefer_offline: 'true',
    PATH: [join(prefix, 'bin'), dirname(process.execPath), process.env['PATH']].join(delimiter),
  };
}

/** Commands of the README's section "Install", without the last one, `oriel serve`, which does not end. */
function installLines(): string {
  const section = readFileSync(join(ROOT, 'README.md'), 'utf8').split('\n## Install\n')[1]!;
  const [, block = ''] = /```console\n(.*?)```/s.exec(section) ?? [];
  const lines = Array.from(block.matchAll(/^\$ (.*)$/gm), ([, line]) => line!);
  expect(lines.pop()).toBe('oriel serve');
  const ci = /^npm ci && (?=npm run build && npm install --global \. )/;
  expect(lines[0]).toMatch(ci);
  // .ci/run begins with `npm ci`: here its packages are linked.
  return lines.join('\n').replace(ci, '');
}

describe.runIf(REGISTRY)('installing (needs the registry of npm)', () => {
  it.runIf(IS_CLONE)(
    'from a fresh clone by the commands of the README provides the command oriel',
    async () => {
      const folder = temporaryFolder();
      const cwd = cloneWithPackages(join(folder, 'clone'));
      await writePhotographs(cwd, ['photos/a.jpg']);
      const script = `set -e\n${installLines()}\noriel --version`;
      const run = await shell(`unset -f oriel\n${script}`, {
        cwd,
        env: environment(join(folder, 'prefix')),
      });
      expect(run.status, run.stderr).toBe(0);
      expect(run.stderr).not.toContain('install-scripts');
      expect(run.out).toMatch(/^photos\/a\.jpg +web\/a\.webp /m);
      expect(run.out).toMatch(/^\d+\.\d+\.\d+\n$/m);
    },
    INSTALL_TIMEOUT,
  );

  it(
    'from a tarball provides the command oriel, without warnings of engines and install scripts',
    async () => {
      const folder = temporaryFolder();
      const pack = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
      const name = execFileSync('npm', pack, { cwd: ROOT, encoding: 'utf8' }).trim();
      const env = environment(join(folder, 'prefix'));
      const run = await shell(`unset -f oriel; npm install --global ./${name} && oriel --version`, {
        cwd: folder,
        env,
      });
      expect(run.status, run.stderr).toBe(0);
      expect(run.stderr).not.toMatch(/EBADENGINE|install-scripts/);
    },
    INSTALL_TIMEOUT,
  );
});
