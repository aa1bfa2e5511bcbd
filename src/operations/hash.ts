import { createHash } from 'node:crypto';
import * as v from 'valibot';
import { field } from '../schema.ts';
import { defineOperation, fileFailure } from './operation.ts';

export const hash = defineOperation({
  name: 'hash',
  summary: 'SHA-256 of the bytes, and a perceptual hash of the pixels on request',
  gives: 'data',
  options: v.strictObject({
    perceptual: v.optional(
      field(v.picklist(['none', 'dhash', 'phash']), 'also hash what is seen'),
      'none',
    ),
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
