import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { Failure } from '../../../src/failure.ts';
import { ExifEditor } from '../../../src/images/exif/edit.ts';
import { readExif } from '../../../src/images/exif/exif.ts';
import { splitJpeg } from '../../../src/images/jpeg/segments.ts';
import type { MetadataEdit } from '../../../src/images/metadata/edit.ts';
import { editJpeg } from '../../../src/images/metadata/jpeg.ts';
import { editPng } from '../../../src/images/metadata/png.ts';
import { readTagChange, TAG_NAMES, type TagChange } from '../../../src/images/metadata/tags.ts';
import { editWebp } from '../../../src/images/metadata/webp.ts';
import { withoutGps } from '../../../src/images/metadata/xmp.ts';
import { pngChunk, pngChunks, pngOf } from '../../../src/images/png/chunks.ts';
import { type Batch, type Files, runBatch } from '../../batch.ts';
import { quadrants } from '../../fixtures/images.ts';
import { outsideFolder, SKIPPED } from '../../outside-material.ts';
import { residentCommand } from '../../resident.ts';
import { runs } from '../../runs.ts';

const oriel = residentCommand();
const OUTSIDE = outsideFolder('images');
const hasExiftool = spawnSync('exiftool', ['-ver']).error === undefined;

const XMP =
  '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description exif:GPSLatitude="43,28.1N" dc:format="a">' +
  '<exif:GPSLongitude>11,53.5E</exif:GPSLongitude><dc:creator>X</dc:creator></rdf:Description></rdf:RDF></x:xmpmeta>';

/** A picture with EXIF, its position among it, and XMP. */
async function picture(format: 'jpeg' | 'png' | 'webp'): Promise<Buffer> {
  return quadrants({ width: 48, height: 32 })
    .withExif({
      IFD0: { Artist: 'Before', Make: 'Camera' },
      IFD2: { DateTimeOriginal: '2020:01:02 03:04:05' },
      IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '43/1 28/1 2/1' },
    })
    .withXmp(XMP)
    .withIccProfile('p3')
    .toFormat(format)
    .toBuffer();
}

async function pictures(): Promise<Files> {
  const [jpeg, png, webp] = await Promise.all([picture('jpeg'), picture('png'), picture('webp')]);
  return { 'a.jpg': jpeg, 'b.png': png, 'c.webp': webp };
}

function edit(set: readonly string[], ...strip: string[]): MetadataEdit {
  return { set: set.map((text) => readTagChange(text) as TagChange), strip: new Set(strip) };
}

/** The bytes that decoders of the picture read. */
function imageData(bytes: Buffer): Buffer {
  if (bytes[0] === 0xff) {
    const { segments, scans } = splitJpeg(bytes);
    const tables = segments.filter(({ marker }) => marker < 0xe0).map(({ data }) => data);
    return Buffer.concat([...tables, scans]);
  }
  if (bytes[0] === 0x89) return pngOf([...pngChunks(bytes)].filter(({ name }) => name === 'IDAT'));
  const at = bytes.indexOf('VP8', 30);
  return bytes.subarray(at, at + 8 + bytes.readUInt32LE(at + 4));
}

async function tagsOf(bytes: Uint8Array) {
  const { exif } = await sharp(bytes).metadata();
  return exif ? readExif(exif) : null;
}

const names = ['a.jpg', 'b.png', 'c.webp'] as const;

describe('metadata --set', () => {
  test('sets tags in JPEG, PNG and WebP, and keeps image data and other tags', async () => {
    const files = await pictures();
    const flags = [
      ...['--set', 'artist=Jörg Müller', '--set', 'DateTimeOriginal=2026-01-31T12:00:00+01:00'],
      ...['--set', 'Orientation=6', '--set', 'DPI=300', '--set', 'Make='],
    ];
    const batch = await runBatch(['edit-metadata', ...flags], files);
    for (const name of names) {
      const bytes = batch.bytes(name);
      expect(imageData(bytes).equals(imageData(Buffer.from(files[name]!))), name).toBe(true);
      const { image, photo, gps } = (await tagsOf(bytes))!;
      expect(image, name).toMatchObject({ Artist: 'Jörg Müller', Orientation: 6 });
      expect(image['Make'], name).toBeUndefined();
      expect(photo['DateTimeOriginal'], name).toBe('2026-01-31T12:00:00+01:00');
      expect(gps['GPSLatitude'], name).toEqual([43, 28, 2]);
      expect(batch.record(name), name).toMatchObject({ width: 32, height: 48 });
      const { density, icc, xmp } = await sharp(bytes).metadata();
      if (name !== 'c.webp') expect(density, name).toBe(300);
      expect([icc, xmp].every(Boolean), name).toBe(true);
      expect(batch.warnings(name), name).toEqual(['xmp_unchanged']);
    }
  });

  test('adds EXIF to pictures without any, and the same again changes nothing', async () => {
    const plain = quadrants({ width: 48, height: 32 });
    const files = {
      'a.jpg': await plain.clone().jpeg().toBuffer(),
      'b.png': await plain.clone().png().toBuffer(),
      'c.webp': await plain.clone().webp().toBuffer(),
      'd.webp': await plain.clone().ensureAlpha(0.5).webp({ lossless: true }).toBuffer(),
    };
    const flags = ['edit-metadata', '--set', 'Copyright=CC BY 4.0', '--set', 'LensModel=50 mm'];
    const once = await runBatch(flags, files);
    const results: Record<string, Buffer> = {};
    for (const name of Object.keys(files)) {
      results[name] = once.bytes(name);
      const tags = await tagsOf(results[name]);
      expect(tags?.image['Copyright'], name).toBe('CC BY 4.0');
      expect(tags?.photo['LensModel'], name).toBe('50 mm');
    }
    expect((await once.pixels('d.webp')).metadata.hasAlpha).toBe(true);
    const twice = await runBatch(flags, results);
    for (const name of Object.keys(files))
      expect(twice.bytes(name).equals(results[name]!), name).toBe(true);
  });

  test.each([
    [['--set', 'Author=x'], `--set: expected one of ${TAG_NAMES.join(', ')}, received "Author"`],
    [['--set', 'Artist'], '--set: expected Artist=VALUE, received no ='],
    [
      ['--set', 'Orientation=9'],
      '--set: Orientation: expected an integer from 1 to 8, received "9"',
    ],
    [['--set', 'DPI=0'], '--set: DPI: expected an integer from 1 to 65535, received "0"'],
    [['--set', 'DateTime=2026-02-30T00:00:00'], '--set: DateTime: expected a date such as'],
    [['--set', 'Artist=a\nb'], '--set: Artist: expected a text without control characters'],
    [['--strip', 'gps,place'], '--strip: expected one of all, gps, exif'],
    [['--strip', 'gps', '--exif', 'full'], '--strip and --exif cannot be combined'],
    [['--out', 'x'], '--out: only with --set or --strip'],
  ])('metadata %j is refused', async (flags, message) => {
    const run = await oriel(['metadata', ...flags, 'a.jpg']);
    expect([run.status, run.out]).toEqual([2, '']);
    expect(run.stderr).toContain(message);
  });

  test('edits in place with --overwrite only', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
    try {
      const path = join(folder, 'a.jpg');
      writeFileSync(path, await picture('jpeg'));
      const flags = ['metadata', '--set', 'Artist=After', path];
      expect((await oriel(flags)).out).toContain('--overwrite');
      expect((await tagsOf(readFileSync(path)))?.image['Artist']).toBe('Before');
      expect((await oriel([...flags, '--overwrite', '--keep-mtime'])).status).toBe(0);
      expect((await tagsOf(readFileSync(path)))?.image['Artist']).toBe('After');
      expect(readdirSync(folder)).toEqual(['a.jpg']);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('metadata --strip', () => {
  const strip = async (...kinds: string[]): Promise<Batch> =>
    runBatch(['edit-metadata', ...kinds.flatMap((kind) => ['--strip', kind])], await pictures());

  test('gps removes the position from EXIF and XMP, and nothing else', async () => {
    const batch = await strip('gps');
    for (const name of names) {
      const bytes = batch.bytes(name);
      expect(bytes.includes('GPSL'), name).toBe(false);
      expect(bytes.includes('dc:creator'), name).toBe(true);
      const tags = (await tagsOf(bytes))!;
      expect(tags.gps, name).toEqual({});
      expect(tags.image['Artist'], name).toBe('Before');
      expect((await sharp(bytes).metadata()).icc, name).toBeDefined();
    }
  });

  test('all keeps what display needs: the colour profile and the orientation', async () => {
    const plain = await pictures();
    const turned = await runBatch(['edit-metadata', '--set', 'Orientation=8'], plain);
    const files = Object.fromEntries(names.map((name) => [name, turned.bytes(name)]));
    const all = await runBatch(['edit-metadata', '--strip', 'all'], files);
    const more = await runBatch(['edit-metadata', '--strip=all,icc', '--set=Orientation='], files);
    for (const name of names) {
      const { exif, xmp, icc, orientation } = await sharp(all.bytes(name)).metadata();
      expect([orientation, xmp, icc !== undefined], name).toEqual([8, undefined, true]);
      expect(Object.keys(readExif(exif!)!.image), name).toEqual(['Orientation']);
      const rest = await sharp(more.bytes(name)).metadata();
      expect([rest.exif, rest.icc, rest.orientation], name).toEqual([
        undefined,
        undefined,
        undefined,
      ]);
      expect(imageData(more.bytes(name)).equals(imageData(files[name]!)), name).toBe(true);
    }
  });

  test.each(['exif', 'xmp', 'icc'] as const)('%s removes that kind only', async (kind) => {
    const batch = await strip(kind);
    for (const name of names) {
      const metadata = await sharp(batch.bytes(name)).metadata();
      const left = (['exif', 'xmp', 'icc'] as const).filter((one) => metadata[one] !== undefined);
      expect(left, name).toEqual(['exif', 'xmp', 'icc'].filter((one) => one !== kind));
    }
  });

  test('comments of JPEG, and texts of PNG, are removed', async () => {
    const jpeg = await picture('jpeg');
    const comment = Buffer.from([0xff, 0xfe, 0, 8, ...Buffer.from('secret')]);
    const [signed, ...chunks] = [...pngChunks(await picture('png'))];
    const text = pngChunk('tEXt', Buffer.from('Comment\0secret'));
    const files = {
      'a.jpg': Buffer.concat([jpeg.subarray(0, 2), comment, jpeg.subarray(2)]),
      'b.png': pngOf([signed!, text, ...chunks]),
    };
    const batch = await runBatch(['edit-metadata', '--strip', 'comments'], files);
    for (const name of ['a.jpg', 'b.png']) {
      expect(batch.bytes(name).includes('secret'), name).toBe(false);
      expect((await tagsOf(batch.bytes(name)))?.image['Artist'], name).toBe('Before');
    }
    expect(batch.bytes('a.jpg').equals(jpeg)).toBe(true);
  });

  test('formats that would be encoded anew fail', async () => {
    const files = { 'a.gif': await quadrants({ width: 48, height: 32 }).gif().toBuffer() };
    const batch = await runBatch(['edit-metadata', '--strip', 'all'], files);
    expect(batch.record('a.gif').error?.code).toBe('metadata_not_writable');
  });

  test('data after the picture stays, unless all is removed', async () => {
    const jpeg = await picture('jpeg');
    const whole = Buffer.concat([jpeg, Buffer.from('motion')]);
    expect(
      editJpeg(whole, edit(['Rating=5']))
        .bytes.subarray(-6)
        .toString(),
    ).toBe('motion');
    expect(editJpeg(whole, edit([], 'all')).bytes.includes('motion')).toBe(false);
  });
});

describe('exiftool', () => {
  /** Tags that stay. The places of further pictures move, and exiftool reads these there. */
  const OTHERS = /MakerNotes|MPF.*MPImage2$|Warning/;

  test('reads what was set in the shared images, without new warnings', async (context) => {
    context.skip(!hasExiftool, 'exiftool is not installed');
    context.skip(!OUTSIDE.isPresent, SKIPPED);
    const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
    const read = (path: string) => {
      const flags = ['-json', '-a', '-G0:1', '-Warning', '-Artist', '-DateTimeOriginal'];
      const all = ['-GPSLatitude', '-MakerNotes:all', '-MPF:all'];
      const [found] = JSON.parse(execFileSync('exiftool', [...flags, ...all, path]).toString());
      return found as Record<string, unknown>;
    };
    try {
      for (const name of [
        'jpeg-gps.jpg',
        'jpeg-gainmap.jpg',
        'jpeg-iptc.jpg',
        'jpeg-exif-xmp.jpg',
      ]) {
        const path = OUTSIDE.path(name);
        const before = read(path);
        const out = join(folder, name);
        const change = edit(
          ['Artist=Jörg', 'DateTimeOriginal=2026:01:31 12:00:00'],
          'gps',
          'thumbnail',
        );
        writeFileSync(out, editJpeg(readFileSync(path), change).bytes);
        const after = read(out);
        expect(after['EXIF:IFD0:Artist'], name).toBe('Jörg');
        expect(after['EXIF:ExifIFD:DateTimeOriginal'], name).toBe('2026:01:31 12:00:00');
        expect(
          Object.keys(after).filter((key) => key.includes('GPS')),
          name,
        ).toEqual([]);
        const others = (tags: Record<string, unknown>) =>
          Object.fromEntries(Object.entries(tags).filter(([key]) => OTHERS.test(key)));
        expect(others(after), name).toEqual(others(before));
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});

describe('properties', () => {
  test('damaged bytes give a picture with the same image data, or a failure', async () => {
    const files = await pictures();
    const sources = names.map((name) => Buffer.from(files[name]!));
    const change = edit(
      ['Artist=A', 'DateTimeOriginal=2026:01:31 12:00:00', 'DPI=72'],
      'gps',
      'thumbnail',
    );
    fc.assert(
      fc.property(
        fc.constantFrom(...sources),
        fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 8 }),
        (source, changes) => {
          const bytes = Buffer.from(source);
          // The first kilobyte has the metadata.
          for (const [place, value] of changes)
            bytes[16 + (place % Math.min(1200, bytes.length - 16))] = value;
          const editBytes = (given: Buffer) =>
            given[0] === 0xff
              ? editJpeg(given, change).bytes
              : given[0] === 0x89
                ? editPng(given, change).bytes
                : editWebp(given, change, { width: 48, height: 32 }).bytes;
          try {
            let edited = editBytes(bytes);
            // A value that ended beyond its block may end inside once the block has grown.
            for (let pass = 0; pass < 3; pass += 1) edited = editBytes(edited);
            expect(editBytes(edited).equals(edited)).toBe(true);
          } catch (error) {
            if (!(error instanceof Failure)) throw error;
          }
        },
      ),
      {
        numRuns: runs(800),
        examples: [
          // A pointer to a directory says that it holds no number.
          [sources[0]!, [[94, 0]]],
          // A text ends one byte beyond the block, and the resolution is missing.
          [
            sources[0]!,
            [
              [10, 181],
              [30, 0],
            ],
          ],
        ],
      },
    );
  });

  test('EXIF whose position is its first directory is refused', () => {
    const editor = ExifEditor.open(null);
    editor.setText('image', 315, 'An artist');
    editor.setRational('gps', 6, 100, 1);
    const block = editor.bytes()!;
    const pointer = block.indexOf(Buffer.from([0x25, 0x88, 4, 0]));
    block.writeUInt32LE(block.readUInt32LE(4), pointer + 8);
    expect(() => ExifEditor.open(block).removeDirectory('gps')).toThrow(/a directory is damaged/);
  });

  test('damaged EXIF is edited or refused, and never loses maker notes', () => {
    const build = () => {
      const editor = ExifEditor.open(null);
      editor.setText('image', 315, 'An artist');
      const bytes = Buffer.from('MAKERNOTE-0123456789');
      editor.set('photo', 37_500, { code: 7, count: bytes.length, bytes });
      editor.setRational('gps', 6, 100, 1);
      return editor.bytes()!;
    };
    const source = build();
    const place = source.indexOf('MAKERNOTE');
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(source.length - 1), fc.nat(255)), { maxLength: 4 }),
        fc.string({ maxLength: 40 }),
        (changes, text) => {
          const block = Buffer.from(source);
          for (const [at, value] of changes) block[at] = value;
          try {
            const editor = ExifEditor.open(block);
            editor.setText('image', 315, text);
            editor.setShort('image', 274, 6);
            editor.removeDirectory('gps');
            const edited = editor.bytes()!;
            if (changes.length === 0) {
              expect(edited.indexOf('MAKERNOTE-0123456789')).toBe(place);
              expect(readExif(edited)?.gps).toEqual({});
            }
          } catch (error) {
            if (!(error instanceof Failure)) throw error;
          }
        },
      ),
      { numRuns: runs(1000) },
    );
  });

  test('XMP of any text loses its positions or is removed, in linear time', () => {
    const hostile = Buffer.from(`${'<a:GPSX>'.repeat(200_000)}${' '.repeat(100_000)}`);
    expect(withoutGps(hostile)).toBeNull();
    const spaces = Buffer.from(`${' a:GPSb '.repeat(200_000)}`);
    expect(withoutGps(spaces)?.length).toBe(spaces.length);
    expect(withoutGps(Buffer.from('exif:GPSLatitude', 'utf16le'))).toBeNull();
    expect(withoutGps(Buffer.from(XMP))?.toString()).not.toContain('GPS');
  });
});
