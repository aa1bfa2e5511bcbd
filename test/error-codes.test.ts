import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ERROR_CODES, type ErrorCode, HTTP_CODES, TYPE_STATUS } from '../src/error-codes.ts';
import { Failure } from '../src/failure.ts';
import { WARNING_CODES } from '../src/warning-codes.ts';
import { ROOT } from './oriel.ts';

const sources = ['src', 'workers'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && name !== 'error-codes.ts')
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8')),
);

describe('the table of error codes', () => {
  it('has no code that the source does not use', () => {
    const unused = Object.keys({ ...ERROR_CODES, ...WARNING_CODES }).filter((code) => {
      // A type of the same name does not count as a use of the code.
      const use = code in TYPE_STATUS ? new RegExp(`code: '${code}'|[[(]'${code}'`) : `'${code}'`;
      // A store names several kinds of records by one template, which the compiler checks.
      const template = `\`\${kind}${code.slice(code.indexOf('_'))}\``;
      return sources.every((text) => text.search(use) === -1 && !text.includes(template));
    });
    expect(unused).toEqual([]);
  });

  it('has a status and a sentence for each code', () => {
    for (const { status, meaning } of Object.values(ERROR_CODES)) {
      expect(status).toBeGreaterThanOrEqual(400);
      expect(status).toBeLessThan(600);
      expect(meaning).toMatch(/^[A-Z].*\.$/);
    }
  });

  it('the generated list has every code that clients get, with type and status', () => {
    const text = readFileSync(join(ROOT, 'config/error-codes.md'), 'utf8');
    const rows = [...text.matchAll(/^\| `(\w+)` +\| `(\w+)` +\| (\d+) +\| (.*?) +\|$/gm)];
    const listed = rows.map(([, code, type, status, meaning]) => [code, type, status, meaning]);
    const expected = Object.entries(HTTP_CODES).map(([code, { types, status, meaning }]) => [
      code,
      types[0],
      String(status),
      meaning,
    ]);
    expect(listed).toEqual(expected);
  });
});

describe('a failure', () => {
  it('has the status of its code', () => {
    const failure = new Failure('invalid_request', 'no such task', { code: 'task_not_found' });
    expect(failure.status).toBe(404);
  });

  it('of another type than its code usually has gets the status of that type', () => {
    const failure = new Failure('service_error', 'no such model', { code: 'model_not_found' });
    expect(failure.status).toBe(502);
  });

  it('with an original code has the status of its type', () => {
    const code: ErrorCode = 'task_not_found';
    const failure = new Failure('invalid_request', 'gone', { originalCode: code });
    expect([failure.code, failure.status]).toEqual([code, 400]);
  });

  it('is refused by the compiler with a code outside the table or of another type', () => {
    const neverCalled = () => [
      // @ts-expect-error
      new Failure('invalid_request', 'x', { code: 'no_such_code' }),
      // @ts-expect-error
      new Failure('rate_limit', 'x', { code: 'task_not_found' }),
    ];
    expect(neverCalled).toBeTypeOf('function');
  });
});
