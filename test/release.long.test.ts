import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validateWorkflow } from '@action-validator/core';
import { expect, it } from 'vitest';
import { cloneWithPackages } from './clone.ts';
import { describeWith, engine } from './engines/engine.ts';
import { ROOT, startProgram, temporaryFolder } from './oriel.ts';

it('npm run release gives equal bytes in two folders, and an SBOM of what is installed', async () => {
  const parent = temporaryFolder();
  const env = { SOURCE_DATE_EPOCH: '1700000000' };
  const releases = [join(parent, 'one'), join(parent, 'another', 'folder with a space')].map(
    async (folder) => {
      const args = ['run', '--silent', 'release', '--', 'out'];
      const run = await startProgram('npm', args, { cwd: cloneWithPackages(folder), env }).ended;
      expect(run.status, run.stderr).toBe(0);
      return join(folder, 'out');
    },
  );
  const [one, other] = await Promise.all(releases);
  for (const name of ['SHA256SUMS', 'sbom.cdx.json', 'oriel-1.0.0.tgz']) {
    expect(readFileSync(join(one!, name)).equals(readFileSync(join(other!, name))), name).toBe(
      true,
    );
  }
  const sums = await startProgram('sha256sum', ['--check', 'SHA256SUMS'], { cwd: one! }).ended;
  expect(sums).toMatchObject({ status: 0, out: 'oriel-1.0.0.tgz: OK\nsbom.cdx.json: OK\n' });

  const sbom = JSON.parse(readFileSync(join(one!, 'sbom.cdx.json'), 'utf8'));
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

it('the workflow that publishes a release is one of GitHub, and its commands exist', () => {
  const text = readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8');
  expect(validateWorkflow(text)).toMatchObject({ errors: [] });
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
  const named = Array.from(text.matchAll(/npm run (?:--silent )?([\w:]+)/g), ([, name]) => name);
  expect(named).toEqual(['check', 'release']);
  for (const name of named) expect(scripts).toHaveProperty(name!);
});

const ANALYZE = engine('systemd', 'systemd-analyze');

describeWith([ANALYZE], 'the systemd unit', () => {
  const unit = join(ROOT, 'config', 'oriel.service');

  it('is valid, and exposes little of the machine', async () => {
    const verified = await startProgram(ANALYZE.program!, ['verify', unit]).ended;
    expect(verified).toMatchObject({ status: 0, out: '', stderr: '' });
    // Systemd calls 2 and less OK.
    const limit = ['security', '--offline=true', '--threshold=20', unit];
    const { status, out } = await startProgram(ANALYZE.program!, limit).ended;
    expect(status, out).toBe(0);
  });
});
