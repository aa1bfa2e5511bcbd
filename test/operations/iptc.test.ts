import { expect, test } from 'vitest';
import { photoshopOfTiff } from '../../src/images/exif/copy.ts';
import { contentOf, isKind, segmentOf } from '../../src/images/jpeg/metadata.ts';
import { joinJpeg, splitJpeg } from '../../src/images/jpeg/segments.ts';
import { runBatch } from '../batch.ts';
import { photo } from '../fixtures/images.ts';

/** Records of IPTC (IIM 4.2): a keyword each. */
function keywords(...words: string[]): Buffer {
  return Buffer.concat(
    words.map((word) => {
      const text = Buffer.from(word);
      return Buffer.concat([Buffer.from([0x1c, 2, 25, 0, text.length]), text]);
    }),
  );
}

function resource(number: number, data: Buffer): Buffer {
  const head = Buffer.from([...Buffer.from('8BIM'), 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeUInt16BE(number, 4);
  head.writeUInt32BE(data.length, 8);
  return Buffer.concat([head, data, Buffer.alloc(data.length % 2)]);
}

const RECORDS = keywords('holiday', 'Zoë', 'Hungary');
const RESOURCES = Buffer.concat([
  resource(0x03ed, Buffer.alloc(16)),
  resource(0x0404, RECORDS),
  // More than one segment of JPEG holds.
  resource(0x040c, Buffer.alloc(100_001, 7)),
]);

async function withResources(): Promise<Buffer> {
  const { segments, scans } = splitJpeg(await photo({ width: 40, height: 30 }).jpeg().toBuffer());
  const parts = [RESOURCES.subarray(0, 60_000), RESOURCES.subarray(60_000)];
  return joinJpeg([...parts.map((part) => segmentOf('photoshop', part)), ...segments], scans);
}

function resourcesOf(jpeg: Uint8Array): Buffer {
  const segments = splitJpeg(jpeg).segments.filter((segment) => isKind(segment, 'photoshop'));
  return Buffer.concat(segments.map((segment) => contentOf(segment, 'photoshop')));
}

/** A TIFF file of one tag. */
function tiffOf(tag: number, code: number, value: Buffer, order: 'II' | 'MM'): Buffer {
  const file = Buffer.alloc(26);
  const [short, long] =
    order === 'II'
      ? (['writeUInt16LE', 'writeUInt32LE'] as const)
      : (['writeUInt16BE', 'writeUInt32BE'] as const);
  file.write(order, 'latin1');
  file[short](42, 2);
  file[long](8, 4);
  file[short](1, 8);
  file[short](tag, 10);
  file[short](code, 12);
  file[long](value.length / (code === 4 ? 4 : 1), 14);
  file[long](26, 18);
  return Buffer.concat([file, value]);
}

test('image resources with IPTC survive JPEG to TIFF to JPEG', async () => {
  const converted = async (file: Uint8Array, ...options: string[]) => {
    const batch = await runBatch(['convert', ...options], { file });
    expect(batch.warnings('file')).toEqual([]);
    return batch.bytes('file');
  };
  const tiff = await converted(await withResources(), '--format', 'tiff', '--metadata', 'all');
  const after = await converted(tiff, '--format', 'jpeg', '--metadata', 'all');
  expect(resourcesOf(after).equals(RESOURCES)).toBe(true);
  expect(resourcesOf(await converted(tiff, '--format', 'jpeg'))).toHaveLength(0);
});

test.each(['png', 'webp', 'avif'])('IPTC that %s does not hold has a warning', async (format) => {
  const convert = ['convert', '--format', format];
  const file = await withResources();
  const kept = await runBatch([...convert, '--metadata', 'all'], { file });
  expect(kept.warnings('file')).toEqual(['iptc_lost']);
  expect((await runBatch(convert, { file })).warnings('file')).toEqual([]);
});

/** A JPEG with a second picture, which the mark makes a gain map. */
async function withPicture(mark: string): Promise<Buffer> {
  const { segments, scans } = splitJpeg(await photo({ width: 48, height: 32 }).jpeg().toBuffer());
  const list = segmentOf('pictures', Buffer.from('MM\0*\0\0\0\b\0\0'));
  const map = await photo({ width: 20, height: 15 }).jpeg().toBuffer();
  return Buffer.concat([joinJpeg([...segments, list], scans), map, Buffer.from(mark)]);
}

test('a gain map that is left out has a warning', async () => {
  const { segments, scans } = splitJpeg(await photo({ width: 40, height: 30 }).jpeg().toBuffer());
  for (const mark of ['http://ns.adobe.com/hdr-gain-map/1.0/', 'HDRGainMap']) {
    const file = await withPicture(mark);
    const batch = await runBatch(['resize', '--width', '20'], {
      'with.jpg': file,
      'without.jpg': joinJpeg(segments, scans),
    });
    expect(batch.warnings('with.jpg')).toEqual(['trailer_lost']);
    expect(batch.warnings('without.jpg')).toEqual([]);
  }
});

test('only a gain map is named that rotate --lossless leaves out by default', async () => {
  const batch = await runBatch(['rotate', '--angle', '180', '--lossless'], {
    'hdr.jpg': await withPicture('HDRGainMap'),
    'preview.jpg': await withPicture('a preview'),
  });
  expect(batch.warnings('hdr.jpg')).toEqual(['trailer_lost']);
  expect(batch.warnings('preview.jpg')).toEqual([]);
});

test('a gain map that --strip all removes has a warning', async () => {
  const file = await withPicture('HDRGainMap');
  for (const [kind, codes] of [
    ['all', ['trailer_lost']],
    ['exif', []],
  ] as const) {
    const batch = await runBatch(['edit-metadata', '--strip', kind], { 'hdr.jpg': file });
    expect(batch.warnings('hdr.jpg')).toEqual(codes);
  }
});

test('an input that keep-if-smaller keeps has lost no gain map', async () => {
  const file = await withPicture('HDRGainMap');
  const larger = ['convert', '--format', 'jpeg', '--quality', '100', '--keep-if-smaller'];
  const batch = await runBatch(larger, { 'hdr.jpg': file });
  expect(batch.bytes('hdr.jpg').equals(file)).toBe(true);
  expect(batch.warnings('hdr.jpg')).toEqual([]);
});

test.each(['II', 'MM'] as const)('IPTC alone is read from TIFF of %s, also swapped', (order) => {
  const value = Buffer.concat([RECORDS, Buffer.alloc((4 - (RECORDS.length % 4)) % 4)]);
  const expected = resource(0x0404, value);
  expect(photoshopOfTiff(tiffOf(33_723, 4, value, order))).toEqual(expected);
  expect(photoshopOfTiff(tiffOf(33_723, 7, value, order))).toEqual(expected);
  expect(photoshopOfTiff(tiffOf(33_723, 4, Buffer.from(value).swap32(), order))).toEqual(expected);
  expect(photoshopOfTiff(tiffOf(33_723, 4, Buffer.alloc(40, 1), order))).toBeNull();
});
