import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { DirectoryWriter } from '../../../src/images/exif/copy.ts';
import { ExifEditor } from '../../../src/images/exif/edit.ts';
import { editAvif } from '../../../src/images/metadata/avif.ts';
import { readTagChange, type TagChange } from '../../../src/images/metadata/tags.ts';
import { editTiff } from '../../../src/images/metadata/tiff.ts';
import { runBatch, runOne } from '../../batch.ts';
import { quadrants } from '../../fixtures/images.ts';
import { runs } from '../../runs.ts';

const XMP =
  '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description exif:GPSLatitude="43,28.1N">' +
  '<dc:creator>X</dc:creator></rdf:Description></rdf:RDF></x:xmpmeta>';

/** A picture with EXIF, its position among it, XMP and a profile. */
async function picture(format: 'tiff' | 'avif'): Promise<Buffer> {
  const file = await quadrants({ width: 48, height: 32 })
    .withExif({
      IFD0: { Artist: 'Before' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '43/1 28/1 2/1' },
    })
    .withXmp(XMP)
    .withIccProfile('p3')
    .jpeg()
    .toBuffer();
  const flags = ['--metadata', 'all', '--lossless'];
  return (await runBatch(['convert', '--format', format, ...flags], { file })).bytes('file');
}

const samples = (bytes: Buffer) => sharp(bytes, { ignoreIcc: true }).raw().toBuffer();

function edit(set: readonly string[], ...strip: string[]) {
  return { set: set.map((text) => readTagChange(text) as TagChange), strip: new Set(strip) };
}

describe.each(['tiff', 'avif'] as const)('metadata of %s', (format) => {
  test.each([
    [['gps'], ['Before', 'dc:creator', 'acsp']],
    [['exif'], ['dc:creator', 'acsp', 'GPSLatitude']],
    [['xmp'], ['Before', 'acsp', '\x2b\0\0\0\x01\0\0\0\x1c']],
    [['icc'], ['Before', 'dc:creator', 'GPSLatitude', '\x2b\0\0\0\x01\0\0\0\x1c']],
    [['all'], ['acsp']],
    [['all', 'icc'], []],
  ])('%j is removed alone, and pixels stay', async (kinds, left) => {
    const file = await picture(format);
    const batch = await runBatch(['edit-metadata', '--strip', kinds.join(',')], { file });
    const bytes = batch.bytes('file');
    // A position as EXIF has it: 43, 1, 28.
    const marks = ['Before', 'dc:creator', 'acsp', 'GPSLatitude', '\x2b\0\0\0\x01\0\0\0\x1c'];
    const found = (one: Buffer) => marks.filter((mark) => one.includes(mark, 0, 'latin1'));
    expect(found(file)).toEqual(marks);
    expect(found(bytes).sort()).toEqual([...left].sort());
    if (!kinds.includes('icc'))
      expect((await samples(bytes)).equals(await samples(file))).toBe(true);
    expect((await sharp(bytes).metadata()).icc === undefined).toBe(kinds.includes('icc'));
  });

  test('the same change again changes nothing, and no change keeps the bytes', async () => {
    const file = await picture(format);
    const flags = ['edit-metadata', '--set', 'Make=Camera', '--set', 'Keywords=a,b'];
    const once = await runOne(flags, file);
    const twice = await runBatch(flags, { once: once.bytes });
    expect(twice.bytes('once').equals(once.bytes)).toBe(true);
    const none = await runBatch(['edit-metadata', '--strip', 'comments'], { file });
    expect(none.bytes('file').equals(file)).toBe(true);
  });

  test('damage gives a file or a failure', async () => {
    const source = await picture(format);
    const change = edit(['Artist=A', 'DPI=72', 'Title=t'], 'gps', 'icc');
    const run = (bytes: Buffer) =>
      format === 'tiff' ? editTiff(bytes, change) : editAvif(bytes, change);
    const places = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(places, fc.nat(source.length), (changes, length) => {
        const bytes = Buffer.from(source.subarray(0, length % 3 === 0 ? length : source.length));
        for (const [place, value] of changes) bytes[place % Math.max(1, bytes.length)] = value;
        try {
          expect(run(bytes).bytes.length).toBeLessThan(2 * source.length + 20_000);
        } catch (error) {
          if (!(error instanceof Failure)) throw error;
        }
      }),
      { numRuns: runs(400) },
    );
  });
});

test('a position on a later page of a TIFF is removed, and a loop of pages fails', () => {
  const editor = ExifEditor.open(null);
  editor.setText('image', 315, 'An artist');
  editor.setText('gps', 1, 'POSITION');
  const writer = new DirectoryWriter(8);
  const pages = [writer.copy(editor.bytes()!), writer.copy(editor.bytes()!)];
  const start = writer.directory(pages[0]!, writer.directory(pages[1]!));
  const file = Buffer.concat([Buffer.from('II*\0\0\0\0\0', 'latin1'), ...writer.parts]);
  file.writeUInt32LE(start, 4);
  const { bytes } = editTiff(file, edit([], 'gps'));
  expect(bytes.toString('latin1').match(/POSITION|An artist/g)).toEqual(['An artist', 'An artist']);
  const next = start + 2 + 12 * file.readUInt16LE(start);
  file.writeUInt32LE(start, next);
  expect(() => editTiff(file, edit([], 'gps'))).toThrow(Failure);
});
