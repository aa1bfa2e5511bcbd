import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import sharp from 'sharp';
import { describe, expect, test } from 'vitest';
import { resize } from '../../../src/operations/steps/resize.ts';
import { parseFields } from '../../../src/schema/fields.ts';
import { runBatch, runOne } from '../../batch.ts';
import { animatedGif, ORIENTATIONS, painted, pngOf, storedAs } from '../../fixtures/images.ts';
import { Writer } from '../../images/exif/exif-block.ts';
import { oriel, temporaryFolder } from '../../oriel.ts';
import { decode, differences } from '../../pixels.ts';

const SIZE = { width: 48, height: 32 };
/** Every pixel encodes its position. */
const place = (x: number, y: number) => [x * 5, y * 7, 9];
const map = () => painted(SIZE, place);

const square = (focus: string) => ['crop', '--ratio', '1:1', '--focus', focus];
const cover = (focus: string) => [
  ...['resize', '--width', '32', '--height', '32', '--fit', 'cover', '--focus', focus],
];
const small = (focus: string) => ['crop', '--width', '8', '--height', '6', '--focus', focus];

describe('a point', () => {
  test.each([
    [square('0.5,0.5'), 32, 32, 8, 0],
    [square('0,0'), 32, 32, 0, 0],
    [square('0.6,1'), 32, 32, 13, 0],
    [square('1,0.2'), 32, 32, 16, 0],
    [cover('0.6,0'), 32, 32, 13, 0],
    [small('0.5,0.25'), 8, 6, 20, 5],
    [['crop', '--percent', '50', '--focus', '0.25,1'], 24, 16, 0, 16],
  ])('%j is the middle as far as the picture reaches', async (args, width, height, left, top) => {
    const pixels = await runOne(args, await pngOf(map()));
    expect([pixels.width, pixels.height]).toEqual([width, height]);
    expect(differences(pixels, (x, y) => place(left + x, top + y))).toEqual([]);
    expect(pixels.warnings).toEqual([]);
  });

  test('cuts every frame of an animation at one place, which a face would not', async () => {
    const frames = [map(), map().negate({ alpha: false })];
    const gif = await animatedGif(frames, { delay: [100, 100], loop: 0 });
    const batch = await runBatch([...square('0,0'), '--format', 'gif'], { 'a.gif': gif });
    expect(await sharp(batch.bytes('a.gif')).metadata()).toMatchObject({ width: 32, pages: 2 });
    const refused = await runBatch([...square('face'), '--format', 'gif'], { 'a.gif': gif });
    expect(refused.record('a.gif').error).toMatchObject({
      code: 'animation_unsupported',
      message: expect.stringMatching(/^focus face would cut/),
    });
  });
});

/** A region in a stored picture: the place of a red square that is seen at 36,8 of 48x32. */
async function spot(orientation: number) {
  const isRed = (x: number, y: number) => Math.max(Math.abs(x - 35.5), Math.abs(y - 7.5)) < 2;
  const upright = painted(SIZE, (x, y) => (isRed(x, y) ? [250, 0, 0] : [90, 90, 90]));
  const stored = await storedAs(upright, orientation);
  const { data, info } = await stored.clone().raw().toBuffer({ resolveWithObject: true });
  const at = data.findIndex((value, index) => index % 3 === 0 && value === 250) / 3;
  const [x, y] = [(at % info.width) + 2, Math.floor(at / info.width) + 2];
  return { stored, x, y, width: info.width, height: info.height };
}

const region = (x: number, y: number, form: 'attributes' | 'elements', head = '') => {
  const values = { x, y, w: 0.01, h: 0.01, unit: 'normalized' };
  const written = Object.entries(values).map(([key, value]) =>
    form === 'attributes' ? ` stArea:${key}="${value}"` : `<stArea:${key}>${value}</stArea:${key}>`,
  );
  const area =
    form === 'attributes'
      ? `<mwg-rs:Area${written.join('')}/>`
      : `<mwg-rs:Area rdf:parseType="Resource">${written.join('')}</mwg-rs:Area>`;
  return `<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" xmlns:mwg-rs="http://www.metadataworkinggroup.com/schemas/regions/" xmlns:stArea="http://ns.adobe.com/xmp/sType/Area#" xmlns:stDim="http://ns.adobe.com/xap/1.0/sType/Dimensions#"><mwg-rs:Regions rdf:parseType="Resource">${head}<mwg-rs:RegionList><rdf:Bag><rdf:li rdf:parseType="Resource">${area}</rdf:li></rdf:Bag></mwg-rs:RegionList></mwg-rs:Regions></rdf:Description></rdf:RDF></x:xmpmeta>`;
};

/** A JPEG with an EXIF block of the orientation and the subject area alone before any other. */
function withArea(jpeg: Buffer, orientation: number, area: readonly number[]): Buffer {
  const writer = new Writer('big');
  const photo = { entries: { 37396: writer.shorts(...area) } };
  const entries = { 274: writer.shorts(orientation) };
  const block = writer.block({ entries, pointers: { 34665: photo } });
  const content = Buffer.concat([Buffer.from('Exif\0\0'), block]);
  const head = Buffer.from([0xff, 0xd8, 0xff, 0xe1, 0, content.length + 2]);
  // That of sharp goes, since its orientation would be read too.
  const [at, length] = [
    jpeg.indexOf('Exif\0\0') - 4,
    jpeg.readUInt16BE(jpeg.indexOf('Exif\0\0') - 2),
  ];
  return Buffer.concat([head, content, jpeg.subarray(2, at), jpeg.subarray(at + 2 + length)]);
}

/** Whether the middle of an output is the red square. */
async function showsSpot(bytes: Uint8Array): Promise<boolean> {
  const [red, green] = (await decode(bytes)).rgb(4, 3) as [number, number];
  return red > 200 && green < 60;
}

describe('metadata', () => {
  test.each(ORIENTATIONS)('by EXIF and by XMP is where it is seen, orientation %i', async (o) => {
    const { stored, x, y, width, height } = await spot(o);
    const jpeg = () => stored.clone().jpeg({ quality: 100, chromaSubsampling: '4:4:4' });
    const dimensions = (w: number, h: number) =>
      `<mwg-rs:AppliedToDimensions stDim:w="${w}" stDim:h="${h}" stDim:unit="pixel"/>`;
    const files = {
      'exif.jpg': withArea(await jpeg().toBuffer(), o, [x, y, 3, 3]),
      'attributes.jpg': await jpeg()
        .withXmp(region(x / width, y / height, 'attributes', dimensions(width, height)))
        .toBuffer(),
      'elements.jpg': await jpeg()
        .withXmp(region(x / width, y / height, 'elements'))
        .toBuffer(),
      // Written by a program that measures in the picture as seen.
      'seen.jpg': await jpeg()
        .withXmp(region(36 / 48, 8 / 32, 'elements', o > 4 ? dimensions(48, 32) : ''))
        .toBuffer(),
    };
    const batch = await runBatch([...small('metadata'), '--format', 'png'], files);
    for (const name of Object.keys(files)) {
      if (name === 'seen.jpg' && o < 5 && o > 1) continue;
      expect([name, await showsSpot(batch.bytes(name)), batch.warnings(name)]).toEqual([
        name,
        true,
        [],
      ]);
    }
  });

  test.each([
    ['a picture without', async () => pngOf(map())],
    [
      'an area beyond the picture',
      async () =>
        map()
          .png()
          .withExif({ IFD2: { SubjectArea: '99 99' } })
          .toBuffer(),
    ],
    [
      'a region that is no number',
      async () =>
        map()
          .png()
          .withXmp(region(Number.NaN, 0.5, 'elements'))
          .toBuffer(),
    ],
    [
      'a region beyond the picture',
      async () =>
        map()
          .png()
          .withXmp(region(7, 0.5, 'attributes'))
          .toBuffer(),
    ],
  ])('of %s leaves the part to attention', async (_, bytes) => {
    const { warnings, width } = await runOne(small('metadata'), await bytes());
    expect([warnings, width]).toEqual([['focus_not_found'], 8]);
  });

  test('has no place after steps that cut or turn', async () => {
    const { stored } = await spot(1);
    const bytes = await stored
      .png()
      .withXmp(region(0.75, 0.25, 'attributes'))
      .toBuffer();
    const folder = temporaryFolder();
    writeFileSync(join(folder, 'a.png'), bytes);
    const recipe = (before: string) =>
      `steps: [${before}, { crop: { width: 8, height: 6, focus: metadata } }]\noutputs: [{ name: '{name}-out.{ext}', formats: [png] }]\n`;
    const warningsOf = async (before: string) => {
      writeFileSync(join(folder, 'r.yaml'), recipe(before));
      const args = ['run', 'r.yaml', 'a.png', '--out', 'out', '--overwrite', '--json'];
      const { out } = await oriel(args, { cwd: folder });
      return JSON.parse(out).results[0].warnings?.map(({ code }: { code: string }) => code) ?? [];
    };
    expect(await warningsOf('{ sharpen: {} }')).toEqual([]);
    expect(await warningsOf('{ rotate: { angle: 180 } }')).toEqual(['focus_not_found']);
  });
});

describe('a sidecar', () => {
  test.each([
    ['a.png.focus.json', '{"x": 0.75, "y": 0.25}', true],
    ['a.png.xmp', region(0.75, 0.25, 'elements'), true],
    ['a.xmp', region(0.75, 0.25, 'attributes'), true],
    ['a.png.focus.json', '{"x": 7, "y": 0.25}', false],
    ['a.png.focus.json', '{"x": "0.75"', false],
    ['b.png.focus.json', '{"x": 0.75, "y": 0.25}', false],
  ])('%s with %s', async (name, content, isFound) => {
    const folder = temporaryFolder();
    const { stored } = await spot(1);
    writeFileSync(join(folder, 'a.png'), await stored.png().toBuffer());
    const run = async () => {
      const args = [...small('sidecar'), 'a.png', '--out', 'o', '--incremental', '--json'];
      const { out, stderr } = await oriel(args, { cwd: folder });
      expect(stderr).toMatch(/[01] of 1 file done/);
      return JSON.parse(out).results[0];
    };
    expect((await run()).warnings[0].code).toBe('focus_not_found');
    // The cache knows that another sidecar makes another picture.
    writeFileSync(join(folder, name), content);
    expect((await run()).warnings).toEqual(isFound ? undefined : [expect.anything()]);
  });
});

/** Drawn faces, smooth as photographs are. */
function faces(width: number, ...places: readonly (readonly [x: number, size: number])[]) {
  const drawn = places.map(
    ([x, size]) =>
      `<g transform="translate(${x} 60) scale(${size / 100})"><ellipse cx="50" cy="55" rx="42" ry="55" fill="#d8b8a0"/><path d="M6 40Q50 -20 94 40Q80 10 50 12Q20 10 6 40Z" fill="#332211"/><rect x="20" y="32" width="22" height="5" fill="#443322"/><rect x="58" y="32" width="22" height="5" fill="#443322"/><ellipse cx="31" cy="45" rx="10" ry="6" fill="#504038"/><ellipse cx="69" cy="45" rx="10" ry="6" fill="#504038"/><path d="M46 45L42 66L58 66L54 45Z" fill="#e8ccb8"/><rect x="42" y="66" width="16" height="3" fill="#906858"/><ellipse cx="50" cy="82" rx="17" ry="6" fill="#8a4a44"/></g>`,
  );
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="240"><rect width="${width}" height="240" fill="#888899"/>${drawn.join('')}</svg>`;
  return sharp(Buffer.from(svg)).blur(4).png().toBuffer();
}

describe('faces', () => {
  /** The columns of a picture that the output shows, by a colour ramp in its lowest row. */
  const columnsOf = async (places: readonly (readonly [number, number])[], args: string[]) => {
    const picture = await faces(480, ...places);
    const ramp = painted({ width: 480, height: 1 }, (x) => [x % 256, x >> 8, 200]);
    const marked = sharp(picture).composite([{ input: await pngOf(ramp), left: 0, top: 239 }]);
    const pixels = await runOne([...args, '--focus', 'face'], await pngOf(marked));
    const [low, high] = pixels.rgb(0, 239) as [number, number];
    return [low + high * 256, pixels.width, pixels.warnings];
  };
  const ratio = (text: string) => ['crop', '--ratio', text];

  test('are in the middle, all of them if they fit, else the largest', async () => {
    const [left, width, warnings] = await columnsOf([[330, 100]], ratio('1:2'));
    expect([width, warnings]).toEqual([120, []]);
    expect(Math.abs(Number(left) + 60 - 378)).toBeLessThan(12);
    const [both] = await columnsOf(
      [
        [120, 90],
        [300, 100],
      ],
      ratio('4:3'),
    );
    expect(Math.abs(Number(both) + 160 - 257)).toBeLessThan(20);
    const [largest] = await columnsOf(
      [
        [40, 70],
        [330, 110],
      ],
      ratio('1:2'),
    );
    expect(Math.abs(Number(largest) + 60 - 383)).toBeLessThan(16);
  });

  test.each([square('face'), small('face'), cover('face')])(
    '%j: none leave it to attention',
    async (...args) => {
      const { warnings } = await runOne(args as string[], await pngOf(map()));
      expect(warnings).toEqual(['focus_not_found']);
    },
  );
});

test.each([
  [{ width: 9, focus: 'face' }, /^focus: only with fit cover/],
  [{ width: 9, fit: 'cover', position: 'north', focus: 'face' }, /^focus: cannot be used/],
  [{ width: 9, fit: 'cover', focus: '2,0' }, /^focus: expected face, metadata, .* received "2,0"$/],
  [{ width: 9, fit: 'cover', focus: '0.1' }, /^focus: expected/],
])('%j is refused', (options, message) => {
  expect(() => parseFields(resize.options, options)).toThrow(message);
});
