import { expect, test } from 'vitest';
import { unknownEndpoint } from '../../../../src/http/routes/server/unknown.ts';

test.each([
  ['/api/free/batch-duplicates', 'oriel duplicates is /api/free/batch-find-duplicates'],
  ['/api/free/compare', 'oriel compare is /api/free/batch-compare-images'],
  ['/api/free/montage-images', 'oriel montage is /api/free/batch-montage-images'],
  ['/api/free/palette', 'oriel palette is /api/free/batch-color-palette'],
])('%s names the endpoint of the command', (path, hint) => {
  const { message } = unknownEndpoint(path, true);
  expect(message).toBe(`there is no endpoint ${path}; /openapi.json lists all endpoints; ${hint}`);
});

test.each(['/api/free/batch-comparers', '/v1/duplicates', '/api/free/'])(
  '%s has no hint',
  (path) => {
    expect(unknownEndpoint(path, false).message).toBe(`there is no endpoint ${path}`);
  },
);
