import { setTimeout } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import type { ImageInput } from '../../../src/images/input.ts';
import { openImageLayer } from '../../../src/images/layers/image-layer.ts';
import { DEFAULT_LIMITS } from '../../../src/images/limits.ts';
import { photo, pngOf } from '../../fixtures/images.ts';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/** Opens a layer. @returns the file of the layer, for as long as something holds it */
async function opened(): Promise<WeakRef<Uint8Array>> {
  const file = new Uint8Array(await pngOf(photo({ width: 8, height: 8 })));
  const input: ImageInput = {
    ...{
      file,
      bytes: file,
      size: file.length,
      part: () => Buffer.from(file),
      limits: DEFAULT_LIMITS,
      sharp,
      variables: {},
      until: 0,
      load: async () => file,
    },
    admit: () => {},
    withFile: () => Promise.reject(new Error('no file')),
    withNamed: (_, work) => work(input, 'content'),
  };
  await openImageLayer(input, 'logo.png');
  return new WeakRef(file);
}

test('a layer that is kept for the next job does not keep its file', async () => {
  const file = await opened();
  await expect
    .poll(async () => {
      await setTimeout(1);
      collect();
      return file.deref();
    })
    .toBeUndefined();
});
