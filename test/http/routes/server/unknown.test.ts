import { expect, test } from 'vitest';
import { unknownEndpoint } from '../../../../src/http/routes/server/unknown.ts';

test.each([
  ['/api/free/batch-duplicates', 'oriel duplicates runs on the command line only'],
  ['/api/free/compare', 'oriel compare runs on the command line only'],
  ['/api/free/batch-montage-images', 'oriel montage runs on the command line only'],
  [
    '/api/free/batch-srcset',
    'oriel srcset runs on the command line only; /api/free/batch-run has a recipe srcset',
  ],
])('%s names the command', (path, hint) => {
  const { message } = unknownEndpoint(path, true);
  expect(message).toBe(`there is no endpoint ${path}; /openapi.json lists all endpoints; ${hint}`);
});

test.each(['/api/free/batch-comparers', '/v1/duplicates', '/api/free/'])(
  '%s has no hint',
  (path) => {
    expect(unknownEndpoint(path, false).message).toBe(`there is no endpoint ${path}`);
  },
);
