import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { runBatch } from '../batch.ts';
import { photo, quadrants, randomNumbers } from '../fixtures/images.ts';
import { oriel } from '../oriel.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

function randomBytes(length: number): Buffer {
  const random = randomNumbers(length);
  return Buffer.from(Array.from({ length }, () => random(256)));
}

describe('hash', () => {
  test('is the SHA-256 of the bytes as they are, image or not', async () => {
    const image = await photo({ width: 40, height: 30 }).jpeg().toBuffer();
    const files: Record<string, Buffer> = {
      'photo.jpg': image,
      'cut.jpg': image.subarray(0, image.length - 9),
      'wrong-ending.gif': await quadrants({ width: 9, height: 9 }).png().toBuffer(),
      'text.txt': Buffer.from('Oriel\r\n\0'),
      'one-byte': Buffer.from([0]),
      'block.bin': randomBytes(64),
      'large.bin': randomBytes(1_000_003),
    };
    const batch = await runBatch(['hash'], files);
    expect(batch.code).toBe(0);
    expect(batch.result.operation).toBe('hash');
    batch.result.results.forEach((record, index) => {
      const name = Object.keys(files)[index]!;
      expect(record).toEqual({
        index,
        inputFilename: name,
        status: 'succeeded',
        originalSize: files[name]!.length,
        data: { algorithm: 'sha256', sha256: sha256(files[name]!) },
      });
    });
    const total = Object.values(files).reduce((sum, { length }) => sum + length, 0);
    expect(batch.result.summary).toEqual({
      total: 7,
      succeeded: 7,
      failed: 0,
      originalBytes: total,
    });
  });

  test('of nothing is an error', async () => {
    const batch = await runBatch(['hash'], { 'empty.jpg': Buffer.alloc(0) });
    expect(batch.code).toBe(1);
    expect(batch.record('empty.jpg')).toMatchObject({
      status: 'failed',
      originalSize: 0,
      error: { code: 'empty_file' },
    });
  });

  test('refuses what is larger than the limit', async () => {
    const batch = await runBatch(['hash', '--max-file-size', '0.01'], {
      'fits.bin': randomBytes(10_485),
      'exceeds.bin': randomBytes(10_487),
    });
    expect(batch.record('fits.bin').status).toBe('succeeded');
    expect(batch.record('exceeds.bin').error?.code).toBe('file_too_large');
  });

  test('reads standard input', async () => {
    const bytes = randomBytes(70_000);
    const { code, out } = await oriel(['hash', '-'], { input: bytes });
    expect(code).toBe(0);
    expect(out).toContain(sha256(bytes));
  });
});
