import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { writePhotographs } from './cli/photographs.ts';
import { cloneWithPackages, IS_CLONE } from './clone.ts';
import { ROOT, shell, startProgram, temporaryFolder } from './oriel.ts';

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

const made = mkdtempSync(join(tmpdir(), 'oriel-release-'));
afterAll(() => rmSync(made, { recursive: true }));
let both: Promise<[string, string]> | undefined;

/** The folders of two releases, made once for all tests in folders of their own. */
function releases(): Promise<[string, string]> {
  const release = async (name: string) => {
    const folder = join(made, name);
    const args = ['run', '--silent', 'release', '--', 'out'];
    const env = { SOURCE_DATE_EPOCH: '1700000000' };
    const run = await startProgram('npm', args, { cwd: cloneWithPackages(folder), env }).ended;
    expect(run.status, run.stderr).toBe(0);
    return join(folder, 'out');
  };
  both ??= Promise.all([release('one'), release('another/folder with a space')]);
  return both;
}

it('npm run release gives equal bytes in two folders, and an SBOM of what is installed', async () => {
  const [one, other] = await releases();
  for (const name of ['SHA256SUMS', 'sbom.cdx.json', 'oriel-1.0.0.tgz']) {
    expect(readFileSync(join(one, name)).equals(readFileSync(join(other, name))), name).toBe(true);
  }
  const sums = await startProgram('sha256sum', ['--check', 'SHA256SUMS'], { cwd: one }).ended;
  expect(sums).toMatchObject({ status: 0, out: 'oriel-1.0.0.tgz: OK\nsbom.cdx.json: OK\n' });

  const sbom = JSON.parse(readFileSync(join(one, 'sbom.cdx.json'), 'utf8'));
  const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  expect(sbom).toMatchObject({
    bomFormat: 'CycloneDX',
    metadata: { timestamp: '2023-11-14T22:13:20.000Z', component: { name: 'oriel' } },
  });
  const names = new Set<string>(sbom.components.map(({ name }: { name: string }) => name));
  for (const name of [...Object.keys(dependencies), 'gpt-tokenizer', 'preact', 'archiver']) {
    expect(names, name).toContain(name);
  }
  for (const name of ['vitest', 'typescript', 'openai']) expect(names, name).not.toContain(name);
});

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
    'from the tarball of a release provides the command oriel, without warnings of engines and install scripts',
    async () => {
      const [release] = await releases();
      const line = 'unset -f oriel; npm install --global ./oriel-1.0.0.tgz && oriel --version';
      const run = await shell(line, { cwd: release, env: environment(join(made, 'prefix')) });
      expect(run.status, run.stderr).toBe(0);
      expect(run.stderr).not.toMatch(/EBADENGINE|install-scripts/);
    },
    INSTALL_TIMEOUT,
  );
});
