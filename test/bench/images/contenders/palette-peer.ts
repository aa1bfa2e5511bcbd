/** Palettes by the libraries that Node users reach for, each called as its own documentation shows. */
import { basename } from 'node:path';
import sharp from 'sharp';
import { inLanes, listedFiles } from './files.ts';

type Rgb = readonly number[];

/** A file's colours, as `#rrggbb`, from each library. They have no types here: none is a dependency. */
const libraries: Record<string, (count: number) => Promise<(file: string) => Promise<string[]>>> = {
  colorthief: async (count) => {
    const { getPalette } = await library('colorthief');
    return async (file) => {
      const colours = (await getPalette(file, { colorCount: count })) as { hex(): string }[] | null;
      return (colours ?? []).map((colour) => colour.hex());
    };
  },
  // The library's palette is six named swatches, some of which may be missing.
  'node-vibrant': async () => {
    const { Vibrant } = await library('node-vibrant/node');
    return async (file) => {
      const swatches = (await Vibrant.from(file).getPalette()) as Record<
        string,
        { hex: string } | null
      >;
      return Object.values(swatches).flatMap((swatch) => (swatch === null ? [] : [swatch.hex]));
    };
  },
  // image-q quantises pixels and decodes nothing, so it is given the same shrunken picture as the limit.
  'image-q': async (count) => {
    const { buildPaletteSync, utils } = await library('image-q');
    return async (file) => {
      const { data, info } = await shrunken(file, 4);
      const points = utils.PointContainer.fromUint8Array(data, info.width, info.height);
      const palette = buildPaletteSync([points], { colors: count, paletteQuantization: 'wuquant' });
      const colours = palette.getPointContainer().getPointArray() as {
        r: number;
        g: number;
        b: number;
      }[];
      return colours.map(({ r, g, b }) => hex([r, g, b]));
    };
  },
  mmcq: async (count) => {
    const { default: quantize } = await library('@lokesh.dhakar/quantize');
    return async (file) => {
      const { data } = await shrunken(file, 3);
      const pixels: Rgb[] = [];
      for (let index = 0; index < data.length; index += 3) {
        pixels.push([data[index]!, data[index + 1]!, data[index + 2]!]);
      }
      return (quantize(pixels, count).palette() as Rgb[]).map(hex);
    };
  },
};

// biome-ignore lint/suspicious/noExplicitAny: the libraries are installed in a scratch folder only.
const library = async (name: string): Promise<any> => import(name);

function shrunken(file: string, channels: 3 | 4) {
  const picture = sharp(file).resize({ width: 256, height: 256, fit: 'inside' });
  return (channels === 4 ? picture.ensureAlpha() : picture.removeAlpha())
    .raw()
    .toBuffer({ resolveWithObject: true });
}

function hex(colour: Rgb): string {
  return `#${colour.map((value) => Math.round(value).toString(16).padStart(2, '0')).join('')}`;
}

const [name = '', count = '', list = ''] = process.argv.slice(2);
const load = libraries[name];
if (load === undefined) throw new Error(`expected a library's name, received ${name}`);
const extract = await load(Number(count));
sharp.concurrency(1);
sharp.cache(false);
const results = await inLanes(listedFiles(list), 2, async (file) => ({
  inputFilename: basename(file),
  data: { colors: (await extract(file)).map((colour) => ({ hex: colour })) },
}));
process.stdout.write(`${JSON.stringify({ results })}\n`);
