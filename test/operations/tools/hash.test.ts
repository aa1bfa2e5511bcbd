import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { runBatch } from '../../batch.ts';
import {
  painted,
  photo,
  pngOf,
  quadrants,
  randomNumbers,
  storedAs,
} from '../../fixtures/images.ts';
import { oriel } from '../../oriel.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

function randomBytes(length: number): Buffer {
  const random = randomNumbers(length);
  return Buffer.from(Array.from({ length }, () => random(256)));
}

describe('hash', () => {
  test('is the SHA-256 of the bytes of any file', async () => {
    const image = await photo({ width: 40, height: 30 }).jpeg().toBuffer();
    const files: Record<string, Buffer> = {
      'photo.jpg': image,
      'cut.jpg': image.subarray(0, image.length - 9),
      'wrong-ending.gif': await pngOf(quadrants({ width: 9, height: 9 })),
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

  test('of an empty file fails', async () => {
    const batch = await runBatch(['hash'], { 'empty.jpg': Buffer.alloc(0) });
    expect(batch.code).toBe(1);
    expect(batch.record('empty.jpg')).toMatchObject({
      status: 'failed',
      originalSize: 0,
      error: { code: 'empty_file' },
    });
  });

  test('of a file beyond the size limit fails', async () => {
    const batch = await runBatch(['hash', '--max-file-size', '0.01'], {
      'fits.bin': randomBytes(10_000),
      'exceeds.bin': randomBytes(10_001),
    });
    expect(batch.record('fits.bin').status).toBe('succeeded');
    expect(batch.record('exceeds.bin').error?.code).toBe('file_too_large');
  });

  test.each(['dhash', 'phash'])('%s is equal for equal pixels', async (algorithm) => {
    const size = { width: 400, height: 310 };
    const random = randomNumbers(5);
    const samples = Array.from({ length: size.width * size.height }, () => random(256));
    const at = (x: number, y: number) => samples[y * size.width + x]!;
    // Noise that hides next to any brightness of its own: each rounding of the averages shows.
    const colour = () => painted(size, (x, y) => [at(x, y), at(y, x % 310), at(x, 309 - y)]);
    const grey = (channels: 1 | 3, deep = false) =>
      painted({ ...size, channels, deep }, (x, y) =>
        Array.from({ length: channels }, () => at(x, y) * (deep ? 257 : 1)),
      );
    const jpeg = await colour().jpeg().toBuffer();
    const groups: Record<string, Record<string, Promise<Buffer>>> = {
      colour: {
        'colour.png': colour().png({ compressionLevel: 1 }).toBuffer(),
        'colour.webp': colour().webp({ lossless: true, effort: 0 }).toBuffer(),
        'colour.tiff': colour().tiff({ compression: 'none' }).toBuffer(),
        'turned.png': storedAs(colour(), 6).then((stored) => pngOf(stored)),
        'opaque.png': colour().ensureAlpha().png({ compressionLevel: 1 }).toBuffer(),
        'deep.png': painted({ ...size, deep: true }, (x, y) =>
          [at(x, y), at(y, x % 310), at(x, 309 - y)].map((sample) => sample * 257),
        )
          .png({ compressionLevel: 1 })
          .toBuffer(),
      },
      grey: {
        'grey.png': grey(1).png({ compressionLevel: 1 }).toBuffer(),
        'grey-colour.png': grey(3).png({ compressionLevel: 1 }).toBuffer(),
        'grey.webp': grey(3).webp({ lossless: true, effort: 0 }).toBuffer(),
        'grey-deep.png': grey(1, true).png({ compressionLevel: 1 }).toBuffer(),
      },
      lossy: {
        'lossy.jpg': Promise.resolve(jpeg),
        'lossy.png': sharp(jpeg).png({ compressionLevel: 1 }).toBuffer(),
      },
    };
    for (const [group, made] of Object.entries(groups)) {
      const names = Object.keys(made);
      const buffers = await Promise.all(Object.values(made));
      const files = Object.fromEntries(names.map((name, index) => [name, buffers[index]!]));
      const batch = await runBatch(['hash', '--perceptual', algorithm], files);
      const hashes = names.map((name) => {
        const { perceptual } = batch.record(name).data as { perceptual: { hex: string } };
        return `${name} ${perceptual.hex}`;
      });
      const first = hashes[0]!.split(' ')[1]!;
      expect(hashes, group).toEqual(names.map((name) => `${name} ${first}`));
    }
  });

  test('reads standard input', async () => {
    const bytes = randomBytes(70_000);
    const { code, out } = await oriel(['hash', '-'], { input: bytes });
    expect(code).toBe(0);
    expect(out).toContain(sha256(bytes));
  });
});
