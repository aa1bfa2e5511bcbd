import { createHash } from 'node:crypto';
import * as z from 'zod';
import { defineOperation, fileFailure } from './operation.ts';

export const hash = defineOperation({
  name: 'hash',
  summary: 'SHA-256 of the bytes, and a perceptual hash of the pixels on request',
  gives: 'data',
  options: z.strictObject({
    perceptual: z
      .enum(['none', 'dhash', 'phash'])
      .default('none')
      .describe('also hash what is seen'),
  }),
  columns: ['sha256'],
  examples: ['hash *.jpg', 'hash --perceptual phash --json *.jpg'],
  async run(input) {
    // A digest needs no decoding: any bytes have one, whatever they hold.
    if (input.bytes.byteLength === 0) throw fileFailure('empty_file', 'the file is empty');
    const sha256 = createHash('sha256').update(input.bytes).digest('hex');
    return { data: { algorithm: 'sha256', sha256 } };
  },
});
