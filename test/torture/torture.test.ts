import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT, startProgram } from '../oriel.ts';

const FOLDER = join(ROOT, 'test', 'torture');

/** Tests of other files take the processor meanwhile: here only what must hold at any speed counts. */
const BOUNDS = [
  '--p99',
  '60000',
  '--image-p99',
  '240000',
  '--patience',
  '240000',
  '--share',
  '0.5',
];

it('withstands a minute of attacks, overload, faults and fuzzing', async () => {
  const compiler = join(ROOT, 'node_modules', '.bin', 'tsc');
  const compiled = await startProgram(compiler, ['-p', FOLDER]).ended;
  expect(compiled.out + compiled.stderr).toBe('');
  const main = join(FOLDER, '.out', 'test', 'torture', 'main.js');
  const args = [main, '--minutes', '1', '--seed', '1', ...BOUNDS];
  const { status, out, stderr } = await startProgram(process.execPath, args).ended;
  const violations = out.slice(out.indexOf('Violations'));
  expect([status, violations], `${stderr.slice(0, 200)}\n${violations}`).toEqual([
    0,
    'Violations: none.\n',
  ]);
}, 900_000);
