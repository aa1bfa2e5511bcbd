import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { LogFile } from '../../../src/http/observability/log-file.ts';
import { temporaryFolder } from '../../oriel.ts';

const DAY = 86_400_000;

function openedFile(settings: { file?: string; maxSize?: number; keep?: number } = {}) {
  const folder = join(temporaryFolder(), 'logs');
  const { file = join(folder, 'a.log') } = settings;
  const seen = { lost: 0, failures: [] as (string | null)[], now: Date.now() };
  const log = new LogFile(
    { maxSize: 1e6, maxAge: DAY, keep: 2, ...settings, file },
    {
      lost: (lines) => {
        seen.lost += lines;
      },
      failed: (reason) => seen.failures.push(reason),
    },
    () => seen.now,
  );
  const text = (name = file) => readFileSync(name, 'utf8');
  return { log, folder, file, seen, text };
}

describe('a log file', () => {
  it('is rotated by its size, keeps so many former files, and is the owner’s alone', () => {
    const { log, folder, file, text, seen } = openedFile({ maxSize: 4 });
    for (const line of ['one\n', 'two\n', 'three\n', 'four\n']) log.write(line);
    expect(readdirSync(folder).sort()).toEqual(['a.log', 'a.log.1', 'a.log.2']);
    expect([text(), text(`${file}.1`), text(`${file}.2`)]).toEqual(['four\n', 'three\n', 'two\n']);
    expect([statSync(file).mode & 0o777, statSync(folder).mode & 0o777]).toEqual([0o600, 0o700]);
    expect(seen).toMatchObject({ lost: 0, failures: [] });
  });

  it('removes what a larger number of kept files left, and keeps none with 0', () => {
    const { log, folder, file } = openedFile({ maxSize: 4 });
    for (const line of ['one\n', 'two\n', 'three\n']) log.write(line);
    const less = new LogFile(
      { file, maxSize: 4, maxAge: DAY, keep: 0 },
      { lost: () => {}, failed: () => {} },
    );
    less.write('four\n');
    expect(readdirSync(folder)).toEqual(['a.log']);
  });

  it('is rotated by its age at the next line', () => {
    const { log, file, seen, text } = openedFile();
    log.write('old\n');
    seen.now += DAY + 1000;
    log.write('new\n');
    expect([text(), text(`${file}.1`)]).toEqual(['new\n', 'old\n']);
  });

  it.each([
    ['renamed, as by logrotate', (file: string) => renameSync(file, `${file}-2027`)],
    ['removed', (file: string) => rmSync(file)],
    ['removed with its folder', (file: string) => rmSync(join(file, '..'), { recursive: true })],
  ])('begins anew where it was %s', (_, change) => {
    const { log, file, text, seen } = openedFile();
    log.write('one\n');
    change(file);
    log.write('two\n');
    expect(text()).toBe('two\n');
    expect(seen.lost).toBe(0);
  });

  it('goes on after a full disk and a lost volume, whose lines it counts', () => {
    const full = openedFile({ file: '/dev/full', maxSize: 1 });
    full.log.write('one\ntwo\n');
    full.log.write('three\n');
    expect(full.seen).toMatchObject({ lost: 3, failures: [expect.stringContaining('ENOSPC')] });
    expect(existsSync('/dev/full')).toBe(true);

    const { log, folder, seen, text } = openedFile();
    log.write('one\n');
    renameSync(join(folder, '..'), `${join(folder, '..')}-gone`);
    log.write('two\n');
    renameSync(`${join(folder, '..')}-gone`, join(folder, '..'));
    log.write('three\n');
    expect(text()).toBe('one\nthree\n');
    expect(seen).toMatchObject({ lost: 1, failures: [expect.stringContaining('ENOENT'), null] });
  });

  it('is written on where it cannot be renamed', () => {
    const { log, file, seen, text } = openedFile({ maxSize: 4, keep: 1 });
    log.write('one\n');
    mkdirSync(join(`${file}.1`, 'in the way'), { recursive: true });
    log.write('two\n');
    expect(text()).toBe('one\ntwo\n');
    expect(seen).toMatchObject({ lost: 0, failures: [expect.stringContaining('be rotated')] });
    rmSync(`${file}.1`, { recursive: true });
    seen.now += 60_000;
    log.write('three\n');
    expect([text(), seen.failures.at(-1)]).toEqual(['three\n', null]);
  });
});
