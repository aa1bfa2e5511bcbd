import { describe, expect, test } from 'vitest';
import { runBatch } from '../../batch.ts';
import {
  animatedPng,
  everyOrientation,
  gridAvif,
  ORIENTATIONS,
  PRIVATE_EXIF,
  photo,
  pngOf,
  pngPromising,
} from '../../fixtures/images.ts';
import { animations, displayP3, pages, TIMING } from '../../fixtures/kinds.ts';

const SIZE = { width: 30, height: 20 };

describe('metadata', () => {
  test('reports the oriented and the stored size for any orientation', async () => {
    const batch = await runBatch(['metadata', '--exif', 'none'], await everyOrientation(SIZE));
    expect(batch.code).toBe(0);
    for (const orientation of ORIENTATIONS) {
      const [storedWidth, storedHeight] = orientation > 4 ? [20, 30] : [30, 20];
      const { data } = batch.record(`${orientation}.jpg`);
      expect(data).toMatchObject({ ...SIZE, storedWidth, storedHeight, orientation });
    }
  });

  test('reports format, channels, depth and colour space of every kind', async () => {
    const grey = photo(SIZE).greyscale();
    const files = {
      'photo.jpg': await photo(SIZE).jpeg({ chromaSubsampling: '4:4:4' }).toBuffer(),
      'progressive.jpg': await photo(SIZE).jpeg({ progressive: true }).toBuffer(),
      'grey.png': await grey.toColourspace('b-w').png().toBuffer(),
      'deep.png': await pngOf(photo(SIZE).toColourspace('rgb16')),
      'alpha.webp': await photo(SIZE).ensureAlpha(0.5).webp().toBuffer(),
      'photo.avif': await photo(SIZE).avif({ effort: 0 }).toBuffer(),
      'ink.tiff': await photo(SIZE).toColourspace('cmyk').tiff().toBuffer(),
      'dense.png': await pngOf(photo(SIZE).withDensity(300)),
      ...(await displayP3()),
      ...(await pages()),
      ...(await animations()),
      'animated.png': await animatedPng(SIZE),
      'grid.avif': gridAvif(),
    };
    const batch = await runBatch(['metadata'], files);
    expect(batch.code).toBe(0);
    const expected: Record<string, object> = {
      'photo.jpg': {
        format: 'jpeg',
        mediaType: 'image/jpeg',
        ...SIZE,
        space: 'srgb',
        channels: 3,
        depth: 'uchar',
        hasAlpha: false,
        chromaSubsampling: '4:4:4',
        isProgressive: false,
        pages: 1,
        hasProfile: false,
      },
      'progressive.jpg': { isProgressive: true, chromaSubsampling: '4:2:0' },
      'grey.png': { format: 'png', space: 'b-w', channels: 1 },
      'deep.png': { depth: 'ushort', space: 'rgb16' },
      'alpha.webp': { format: 'webp', hasAlpha: true, channels: 4 },
      'photo.avif': { format: 'avif', mediaType: 'image/avif' },
      'ink.tiff': { format: 'tiff', space: 'cmyk', channels: 4 },
      'dense.png': { density: 300 },
      'animated.png': { ...SIZE, pages: 2 },
      'grid.avif': { width: 128, height: 64, pages: 1 },
    };
    for (const [name, data] of Object.entries(expected)) {
      expect([name, batch.record(name).data]).toEqual([name, expect.objectContaining(data)]);
    }
    for (const name of Object.keys(await animations())) {
      expect(batch.record(name).data).toMatchObject({ pages: 3, ...TIMING });
    }
    for (const name of Object.keys(await displayP3())) {
      expect(batch.record(name).data).toMatchObject({ hasProfile: true });
    }
  });

  test('reports delays up to the limit of frames', async () => {
    const batch = await runBatch(['metadata', '--max-frames', '2'], await animations());
    for (const { data } of batch.result.results) {
      expect(data).toMatchObject({ pages: 3, delay: TIMING.delay.slice(0, 2) });
    }
  });

  test('reports the position with --gps only', async () => {
    const image = await photo(SIZE).withExif(PRIVATE_EXIF).jpeg().toBuffer();
    const dataOf = async (...args: string[]) => {
      const batch = await runBatch(['metadata', ...args], { 'a.jpg': image });
      return batch.record('a.jpg').data as Record<string, unknown>;
    };
    expect(await dataOf('--exif', 'none')).not.toHaveProperty('exif');
    const basic = await dataOf();
    expect(basic['exif']).toMatchObject({ model: 'Camera Obscura', artist: 'Nobody' });
    const full = await dataOf('--exif', 'full');
    expect(full['exif']).toMatchObject({ image: { Model: 'Camera Obscura' } });
    for (const unasked of [basic, full]) expect(JSON.stringify(unasked)).not.toMatch(/gps|51\.4/i);
    const asked = await dataOf('--gps');
    expect(asked['gps']).toEqual({
      latitude: expect.closeTo(51.4772222, 6),
      longitude: expect.closeTo(-0.0013889, 6),
    });
    const all = await dataOf('--gps', '--exif', 'full');
    expect(all['exif']).toMatchObject({ gps: { GPSLatitudeRef: 'N' } });
  });

  test('reads a file without pixels, and fails for a damaged header', async () => {
    const image = await pngOf(photo(SIZE));
    const batch = await runBatch(['metadata'], {
      'cut.png': image.subarray(0, image.length / 2),
      'promise.png': pngPromising({ width: 640, height: 480 }),
      'bomb.png': pngPromising({ width: 60_000, height: 60_000 }),
      'text.png': Buffer.from('not an image at all'),
      'empty.png': Buffer.alloc(0),
    });
    expect(batch.code).toBe(1);
    expect(batch.record('cut.png').data).toMatchObject(SIZE);
    expect(batch.record('promise.png').data).toMatchObject({ width: 640, height: 480 });
    expect(batch.record('bomb.png').error?.code).toBe('image_too_large');
    expect(batch.record('text.png').error?.code).toBe('unsupported_format');
    expect(batch.record('empty.png').error?.code).toBe('empty_file');
  });
});
