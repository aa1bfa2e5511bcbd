import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { validateWorkflow } from '@action-validator/core';
import { expect, it } from 'vitest';
import { describeWith, engine } from './engines/engine.ts';
import { ROOT, startProgram } from './oriel.ts';

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
