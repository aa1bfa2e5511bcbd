import { expect, it } from 'vitest';
import { checkpointOf, storedCheckpoint } from '../../../src/media/queue/call-checkpoint.ts';

const URL = 'http://provider.test/videos/1/content';
const USAGE = null;

it('a checkpoint is read as it was stored', () => {
  const files = [{ url: URL, needsKey: true as const }];
  const checkpoint = { route: 'a', jobState: null, output: { files, usage: USAGE } };
  expect(checkpointOf({ progress: storedCheckpoint(checkpoint) })).toEqual(checkpoint);
});

it('a checkpoint of an earlier version loses the stored headers, and its file is downloaded with the key', () => {
  const products = [{ url: URL, headers: { authorization: 'Bearer k' } }, { url: URL }];
  const progress = { way: 'a', progress: null, production: { products, usage: USAGE } };
  expect(checkpointOf({ progress })?.output?.files).toEqual([
    { url: URL, needsKey: true },
    { url: URL },
  ]);
});
