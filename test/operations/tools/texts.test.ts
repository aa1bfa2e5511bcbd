import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { segmentOf } from '../../../src/images/jpeg/metadata.ts';
import { joinJpeg, splitJpeg } from '../../../src/images/jpeg/segments.ts';
import { iptcTexts } from '../../../src/images/metadata/iptc.ts';
import { readPacket, xmpTexts, xmpWithTexts } from '../../../src/images/metadata/xmp-packet.ts';
import { pngChunk, pngChunks, pngOf } from '../../../src/images/png/chunks.ts';
import { type Files, runBatch } from '../../batch.ts';
import { quadrants } from '../../fixtures/images.ts';

const hasExiftool = spawnSync('exiftool', ['-ver']).error === undefined;
const FORMATS = ['jpeg', 'png', 'webp', 'tiff', 'avif'] as const;

async function pictures(): Promise<Files> {
  const image = quadrants({ width: 48, height: 32 });
  const entries = FORMATS.map(async (format) => [
    `a.${format}`,
    await image.clone().toFormat(format).toBuffer(),
  ]);
  return Object.fromEntries(await Promise.all(entries)) as Files;
}

/** The files after `edit-metadata`. */
async function edited(files: Files, ...changes: string[]): Promise<Files> {
  const batch = await runBatch(
    ['edit-metadata', ...changes.flatMap((one) => ['--set', one])],
    files,
  );
  return Object.fromEntries(Object.keys(files).map((name) => [name, batch.bytes(name)]));
}

async function textsOf(files: Files): Promise<unknown[]> {
  const { result } = await runBatch(['metadata'], files);
  return result.results.map(({ data }) => (data as { texts?: unknown }).texts);
}

const ALL = {
  title: 'A <title> & more',
  description: 'What is seen',
  keywords: ['Zoë', 'night'],
  creator: 'Doe, Jane; Max Müller',
  copyright: '© 2026',
};
const SET = [
  ...['Title=A <title> & more', 'description=What is seen', 'Keywords=Zoë, night;Zoë'],
  ...['Creator=Doe, Jane; Max Müller', 'Copyright=© 2026'],
];

test('title, caption, keywords, creator and copyright are set, added to and removed', async () => {
  const files = await edited(await pictures(), ...SET);
  expect(await textsOf(files)).toEqual(FORMATS.map(() => ALL));
  const more = await edited(files, 'Keywords+=day, Zoë', 'Keywords-=night', 'Title=', 'Creator-=x');
  const { title: _, ...rest } = ALL;
  expect(await textsOf(more)).toEqual(FORMATS.map(() => ({ ...rest, keywords: ['Zoë', 'day'] })));
  const none = await edited(
    more,
    ...['Description', 'Keywords', 'Creator', 'Copyright'].map((name) => `${name}=`),
  );
  expect(await textsOf(none)).toEqual(FORMATS.map(() => undefined));
});

test('keywords that ImageMagick wrote into a PNG as profiles change with the others', async () => {
  // Records: a keyword "old" and a creator "Ann"; the second profile has them without a resource.
  const records = '1c021900036f6c641c02500003416e6e';
  const resource = `3842494d0404000000000010${records}`;
  const profile = (name: string, digits: string) =>
    pngChunk(
      'tEXt',
      Buffer.from(`Raw profile type ${name}\0\n${name}\n      ${digits.length / 2}\n${digits}\n`),
    );
  const [head, ...others] = [...pngChunks((await pictures())['a.png']!)];
  const chunks = [head!, profile('8bim', resource), profile('iptc', records), ...others];
  const before = { 'a.png': pngOf(chunks) };
  expect(await textsOf(before)).toEqual([{ keywords: ['old'], creator: 'Ann' }]);
  const after = await edited(before, 'Keywords+=new', 'Creator=');
  expect(await textsOf(after)).toEqual([{ keywords: ['old', 'new'] }]);
  const texts = [...pngChunks(after['a.png']!)].filter(({ name }) => name === 'tEXt');
  const stored = texts.map(({ data }) =>
    Buffer.from(String(data).replace(/^[\s\S]*?\d+\n/, ''), 'hex'),
  );
  expect(stored.map((bytes) => iptcTexts(bytes.subarray(bytes.indexOf(0x1c))))).toEqual(
    stored.map(() => expect.objectContaining({ Keywords: ['old', 'new'], Creator: [] })),
  );
  expect(stored).toHaveLength(2);
  expect(await textsOf(await edited(after, 'Keywords='))).toEqual([undefined]);
});

test('texts of EXIF alone make no XMP and no IPTC', async () => {
  for (const bytes of Object.values(await edited(await pictures(), 'Copyright=me'))) {
    expect(['xmpmeta', 'Photoshop'].filter((mark) => Buffer.from(bytes).includes(mark))).toEqual(
      [],
    );
  }
});

test('what is removed is not added to', async () => {
  const files = await edited(await pictures(), ...SET);
  const flags = ['edit-metadata', '--strip', 'all', '--set', 'Keywords+=new'];
  const batch = await runBatch(flags, files);
  const results = Object.fromEntries(Object.keys(files).map((name) => [name, batch.bytes(name)]));
  expect(await textsOf(results)).toEqual(FORMATS.map(() => ({ keywords: ['new'] })));
});

test.each(['Title+=x', 'Copyright-=x'])('%s is refused, since it is no list', async (change) => {
  const run = runBatch(['edit-metadata', '--set', change], await pictures());
  await expect(run).rejects.toThrow('only lists have it');
});

test('IPTC is shortened with a warning, and Latin-1 becomes UTF-8', async () => {
  const { segments, scans } = splitJpeg(
    await quadrants({ width: 48, height: 32 }).jpeg().toBuffer(),
  );
  const records = Buffer.from('\x1c\x02\x5a\0\x04K\xf6ln\x1c\x02\x19\0\x04\xfcber', 'latin1');
  const head = Buffer.from('8BIM\x04\x04\0\0\0\0\0\x12', 'latin1');
  const iptc = segmentOf('photoshop', Buffer.concat([head, records]));
  const file = joinJpeg([iptc, ...segments], scans);
  const long = 'ü'.repeat(40);
  const batch = await runBatch(['edit-metadata', '--set', `Keywords+=${long}`], { 'a.jpg': file });
  expect(batch.warnings('a.jpg')).toEqual(['iptc_shortened']);
  const bytes = batch.bytes('a.jpg');
  expect(bytes.includes('Köln')).toBe(true);
  const start = bytes.indexOf('\x1c\x01\x5a', 0, 'latin1');
  expect(iptcTexts(bytes.subarray(start)).Keywords).toEqual(['über', 'ü'.repeat(32)]);
  expect(await textsOf({ 'a.jpg': bytes })).toMatchObject([{ keywords: ['über', long] }]);
});

const RDF = 'xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"';
const PURL = 'xmlns:d="http://purl.org/dc/elements/1.1/"';

test.each([
  [
    'prefixes of its own',
    `<r:RDF ${RDF}><r:Description ${PURL}><d:subject><r:Bag><r:li>a &#38; b</r:li></r:Bag></d:subject></r:Description></r:RDF>`,
    ['a & b'],
  ],
  [
    'a comment',
    '<rdf:RDF><rdf:Description><!-- <dc:subject>b</dc:subject> --></rdf:Description></rdf:RDF>',
    [],
  ],
  [
    'a nested structure',
    '<rdf:RDF><rdf:Description><a:b><rdf:li><dc:subject>b</dc:subject></rdf:li></a:b></rdf:Description></rdf:RDF>',
    [],
  ],
  ['no description', '<rdf:RDF></rdf:RDF>', []],
])('XMP with %s is read and changed', (_, xmp, keywords) => {
  for (const bytes of [Buffer.from(xmp), Buffer.from(`\uFEFF${xmp}`, 'utf16le')]) {
    expect(xmpTexts(readPacket(bytes)).Keywords ?? []).toEqual(keywords);
    const changed = xmpWithTexts(bytes, { Keywords: ['new'], Title: ['<'] });
    expect(xmpTexts(readPacket(changed))).toMatchObject({ Keywords: ['new'], Title: ['<'] });
    const kept = ['<a:b><rdf:li><dc:subject>b', '<!-- <dc:subject>b'].filter((one) =>
      xmp.includes(one),
    );
    for (const part of kept) expect(changed.toString()).toContain(part);
  }
});

test.each([
  ['entities', '<!DOCTYPE a [<!ENTITY b "c">]><rdf:RDF></rdf:RDF>'],
  ['CDATA', '<rdf:RDF><![CDATA[a]]></rdf:RDF>'],
  ['a missing end', '<rdf:RDF><rdf:Description>'],
  ['crossed ends', '<rdf:RDF><a></rdf:RDF></a>'],
  ['an open tag', `<rdf:RDF ${'a'.repeat(1_000_000)}`],
  ['open comments', '<!--'.repeat(200_000)],
  ['no RDF', '<a/>'],
  ['nothing', ''],
])('XMP with %s is not changed', (_, xmp) => {
  expect(() => xmpWithTexts(Buffer.from(xmp), { Title: ['a'] })).toThrow('strip xmp removes it');
  expect(xmpTexts(readPacket(Buffer.from(xmp))).Title ?? []).toEqual([]);
});

test('exiftool reads what Oriel writes, and the other way round', async (context) => {
  context.skip(!hasExiftool, 'exiftool is not installed');
  const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
  const tool = (...flags: string[]) => execFileSync('exiftool', flags, { cwd: folder }).toString();
  try {
    const files = await edited(await pictures(), ...SET);
    for (const [name, bytes] of Object.entries(files)) writeFileSync(join(folder, name), bytes);
    const names = Object.keys(files);
    const groups = ['-XMP-dc:all', '-IPTC:all', '-IFD0:all', '-Warning'];
    for (const tags of JSON.parse(tool('-j', '-a', '-G1', ...groups, ...names)) as object[]) {
      expect(tags).toMatchObject({
        'XMP-dc:Title': ALL.title,
        'XMP-dc:Subject': ALL.keywords,
        'XMP-dc:Creator': ['Doe, Jane', 'Max Müller'],
        'XMP-dc:Description': ALL.description,
        'XMP-dc:Rights': ALL.copyright,
        'IFD0:Artist': ALL.creator,
        'IFD0:Copyright': ALL.copyright,
      });
      expect(tags).not.toHaveProperty('ExifTool:Warning');
    }
    const iptc = { CodedCharacterSet: 'UTF8', Keywords: ALL.keywords, ObjectName: ALL.title };
    for (const name of ['a.jpeg', 'a.tiff'])
      expect(JSON.parse(tool('-j', '-IPTC:all', name))[0]).toMatchObject(iptc);
    tool('-q', '-overwrite_original', '-XMP-dc:Subject+=third', '-XMP-dc:Title=T', ...names);
    const written = names.map((name) => [name, readFileSync(join(folder, name))]);
    const keywords = [...ALL.keywords, 'third'];
    expect(await textsOf(Object.fromEntries(written) as Files)).toEqual(
      FORMATS.map(() => ({ ...ALL, title: 'T', keywords })),
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});
