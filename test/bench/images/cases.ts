import {
  checkDigests,
  checkMetadata,
  checkPalettes,
  checkPictures,
  checkQuality,
  checkVersion,
} from './checks.ts';
import type { Size } from './corpus.ts';
import { digests, each, mogrify, vipsthumbnail, whole } from './programs.ts';
import { recipeCases } from './recipe-cases.ts';
import {
  type Bench,
  type Column,
  figureRatio,
  find,
  type ImageCase,
  type ImageCases,
  least,
  ratioGoal,
  ratioOf,
} from './trial.ts';

const megabytes: Column = {
  key: 'bytes',
  heading: 'output MB',
  format: (value) => (value / 1e6).toFixed(2),
};

const WEBP = {
  work: { do: 'convert', format: 'webp', options: { quality: 80, effort: 4 } },
  oriel: 'convert --format webp --quality 80 --effort 4',
  sharpCli: '-f webp -q 80 --effort 4',
  vips: { before: 'webpsave', output: '.webp', after: '--Q 80 --effort 4 --strip' },
  cwebp: { before: '-quiet -q 80 -m 4', middle: '-o', output: '.webp' },
  magick: '-strip -quality 80 -define webp:method=4',
} as const;

const JPEG = '-strip -quality 80 -sampling-factor 4:2:0';
const VIPS_JPEG = '.jpg[Q=80,optimize_coding,strip]';

export const cases: ImageCases = {
  'convert-webp': async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.photos(quick ? 4 : 12);
    return {
      title: 'convert-webp: JPEG to WebP',
      text: `${inputs.files.length} photographs of 12 megapixels to WebP, quality 80, effort 4.`,
      contenders: [
        ...scripts.loops(WEBP.work, inputs),
        scripts.orielWriting(WEBP.oriel, inputs),
        scripts.naive(WEBP.work, inputs),
        scripts.sharpCli(WEBP.sharpCli, inputs),
        each('vips', inputs, WEBP.vips),
        each('cwebp', inputs, WEBP.cwebp),
        each('convert', inputs, { middle: WEBP.magick, output: '.webp' }),
        mogrify(`-format webp ${WEBP.magick}`, inputs),
      ],
      check: checkPictures(inputs, same),
      columns: [megabytes],
      goals: [
        ratioGoal('convert-webp', 'wall', 1.03),
        ratioGoal('convert-webp', 'peak', 1, 'peak memory'),
      ],
    };
  },

  'convert-avif': async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.smallerPhotos(quick ? 2 : 6);
    const work = { do: 'convert', format: 'avif', options: { quality: 50, effort: 4 } } as const;
    return {
      title: 'convert-avif: JPEG to AVIF',
      text:
        `${inputs.files.length} photographs of 3 megapixels to AVIF, quality 50 and the like. The limit ` +
        `has sharp's own effort, 4; Oriel its own default. "at its PSNR" is what a file would take at ` +
        `the limit's PSNR, by the slope of size against PSNR between qualities 40 and 60.`,
      contenders: [
        scripts.limit(work, inputs),
        {
          ...scripts.orielWriting('convert --format avif --quality 50', inputs),
          sameEncoder: false,
        },
        scripts.sharpCli('-f avif -q 50', inputs),
        // The quantiser and the full chroma of sharp's quality 50.
        each('avifenc', inputs, {
          before: '-s 5 -j 1 -y 444 --min 0 --max 63 -a end-usage=q -a cq-level=32',
          output: '.avif',
        }),
        each('convert', inputs, { middle: '-strip -quality 50', output: '.avif' }),
      ],
      check: checkQuality(inputs),
      columns: [
        megabytes,
        { key: 'psnr', heading: 'PSNR dB', format: (value) => value.toFixed(2) },
        { ...megabytes, key: 'equalBytes', heading: 'MB at its PSNR' },
      ],
      goals: [
        ratioGoal('convert-avif', 'wall', 0.3),
        {
          goal: 'bytes at equal PSNR ≤ 1.05 × limit',
          measured: (standings) =>
            ratioOf(standings, 'convert-avif', ({ observation }) => observation['equalBytes']),
          bound: 1.05,
        },
      ],
      repeat: 0.6,
    };
  },

  'resize-800': async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.photos(quick ? 4 : 24, 4);
    const work = { do: 'resize', width: 800, quality: 80 } as const;
    const resize = `-resize 800x ${JPEG}`;
    const hint = '-define jpeg:size=1600x1200';
    return {
      title: 'resize-800: 800 pixels wide',
      text: `${inputs.files.length} photographs of 12 megapixels to JPEG of 800x600, quality 80.`,
      contenders: [
        ...scripts.loops(work, inputs),
        scripts.orielWriting('resize --width 800 --quality 80', inputs),
        scripts.naive(work, inputs),
        scripts.sharpCli('-q 80 resize 800', inputs),
        vipsthumbnail('800x', VIPS_JPEG, inputs),
        each('convert', inputs, { before: hint, middle: resize, output: '.jpg' }),
        mogrify(`${hint} ${resize}`, inputs),
        each('gm convert', inputs, {
          before: 'convert -size 1600x1200',
          middle: resize,
          output: '.jpg',
        }),
      ],
      check: checkPictures(inputs, () => ({ width: 800, height: 600 })),
      columns: [megabytes],
      goals: [ratioGoal('resize-800', 'wall', 1.05)],
    };
  },

  crop: async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.photos(quick ? 4 : 24, 2);
    const box = { left: 100, top: 100, width: 2000, height: 1500 };
    const work = { do: 'crop', box, quality: 80 } as const;
    const command = 'crop --left 100 --top 100 --width 2000 --height 1500 --quality 80';
    const magick = `-crop 2000x1500+100+100 +repage ${JPEG}`;
    return {
      title: 'crop',
      text: `2000x1500 at 100,100 out of ${inputs.files.length} JPEGs of 12 megapixels, to JPEG, quality 80.`,
      contenders: [
        ...scripts.loops(work, inputs),
        scripts.orielWriting(command, inputs),
        scripts.naive(work, inputs),
        scripts.sharpCli('-q 80 extract 100 100 2000 1500', inputs),
        each('vips', inputs, { before: 'crop', output: VIPS_JPEG, after: '100 100 2000 1500' }),
        each('convert', inputs, { middle: magick, output: '.jpg' }),
        mogrify(magick, inputs),
      ],
      check: checkPictures(inputs, () => ({ width: 2000, height: 1500 })),
      columns: [megabytes],
      goals: [ratioGoal('crop', 'wall', 1.05)],
    };
  },

  rotate: async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.photos(quick ? 4 : 24);
    const work = { do: 'rotate', angle: 90, quality: 80 } as const;
    const magick = `-rotate 90 ${JPEG}`;
    return {
      title: 'rotate',
      text: `${inputs.files.length} JPEGs of 12 megapixels by 90 degrees, to JPEG, quality 80.`,
      contenders: [
        ...scripts.loops(work, inputs),
        scripts.orielWriting('rotate --angle 90 --quality 80', inputs),
        scripts.naive(work, inputs),
        scripts.sharpCli('-q 80 rotate 90', inputs),
        each('vips', inputs, { before: 'rot', output: VIPS_JPEG, after: 'd90' }),
        each('convert', inputs, { middle: magick, output: '.jpg' }),
        mogrify(magick, inputs),
      ],
      check: checkPictures(inputs, ({ width, height }) => ({ width: height, height: width })),
      columns: [megabytes],
      goals: [ratioGoal('rotate', 'wall', 1.05)],
    };
  },

  metadata: async ({ corpus, scripts }) => {
    const inputs = await corpus.mixed(164);
    return {
      title: 'metadata',
      text: `${inputs.files.length} small files: JPEG, PNG, WebP, GIF and TIFF.`,
      contenders: [
        scripts.limit({ do: 'metadata' }, inputs),
        scripts.oriel('--json', 'metadata --json --quiet', inputs),
        scripts.naive({ do: 'metadata' }, inputs),
        whole('vipsheader', '', inputs),
        whole('exiftool', '-json -fast', inputs),
        whole('identify', '-ping', inputs),
      ],
      check: checkMetadata(inputs),
      goals: [ratioGoal('metadata', 'wall', 1.3)],
      repeat: 2,
    };
  },

  palette: async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.photos(quick ? 4 : 20);
    const count = 6;
    const work = { do: 'shrink', side: 256 } as const;
    return {
      title: 'palette',
      text:
        `${count} colours of ${inputs.files.length} photographs of 12 megapixels. The limit only shrinks ` +
        `to 256 pixels and decodes. "mean ΔE" is the distance in OKLab from a pixel of the full ` +
        `picture to the palette's nearest colour, times 100.`,
      contenders: [
        ...scripts.loops(work, inputs),
        scripts.oriel('--count 6', 'palette --count 6 --json --quiet', inputs),
        scripts.palettePeer('mmcq', 'sharp to 256 pixels, @lokesh.dhakar/quantize', count, inputs),
        scripts.palettePeer('image-q', 'sharp to 256 pixels, wuquant', count, inputs),
        scripts.palettePeer('colorthief', 'its defaults, 6 colours', count, inputs),
        scripts.palettePeer('node-vibrant', 'its defaults, 6 swatches', count, inputs),
      ],
      check: checkPalettes(inputs, count),
      columns: [
        { key: 'colours', heading: 'colours', format: (value) => value.toFixed(1) },
        { key: 'difference', heading: 'mean ΔE', format: (value) => (value * 100).toFixed(2) },
      ],
      goals: [
        ratioGoal('palette', 'wall', 1.2),
        {
          goal: 'mean ΔE ≤ the best peer’s',
          measured: (standings) => {
            const field = standings.get('palette') ?? [];
            const peers = field.filter(({ contender }) => contender.role === 'peer');
            const best = peers.flatMap(({ observation }) => observation['difference'] ?? []);
            const own = find(standings, 'palette', 'subject')?.observation['difference'];
            return own === undefined || best.length === 0 ? undefined : own / Math.min(...best);
          },
          bound: 1,
        },
      ],
    };
  },

  sha256: async ({ corpus, scripts, quick }) => {
    const inputs = await corpus.photos(quick ? 4 : 24, quick ? 20 : 10);
    return {
      title: 'sha256',
      text: `SHA-256 of ${inputs.files.length} JPEGs of 12 megapixels.`,
      contenders: [
        scripts.hashLimit(inputs),
        scripts.oriel('--json', 'hash --json --quiet', inputs),
        digests('sha256sum', '', inputs),
        digests('openssl', 'dgst -sha256 -r', inputs),
      ],
      check: checkDigests(inputs),
      goals: [ratioGoal('sha256', 'wall', 1)],
      repeat: 2,
    };
  },

  'one-file': async ({ corpus, scripts }) => {
    const inputs = await corpus.one();
    return {
      title: 'one-file: from start to end',
      text: 'One JPEG of 640x480 to WebP, quality 80, effort 4.',
      contenders: [
        scripts.limit(WEBP.work, inputs),
        scripts.orielWriting(WEBP.oriel, inputs),
        scripts.sharpCli(WEBP.sharpCli, inputs),
        each('vips', inputs, WEBP.vips),
        each('cwebp', inputs, WEBP.cwebp),
        each('convert', inputs, { middle: WEBP.magick, output: '.webp' }),
      ],
      check: checkPictures(inputs, same),
      goals: [ratioGoal('one-file', 'wall', 1.15)],
      repeat: 5,
    };
  },

  'many-small': (bench) => manySmall(bench, bench.quick ? 1_000 : 10_000),
  // Reference for the memory of ten thousand files.
  'many-small-100': async (bench) => ({ ...(await manySmall(bench, 100)), goals: [], repeat: 1 }),

  ...recipeCases,

  start: async ({ scripts }) => ({
    title: 'start',
    text: 'Printing a version; the limit is an empty Node script.',
    contenders: [
      scripts.nodeStart(),
      scripts.oriel('--version', '--version'),
      scripts.sharpCli('--version'),
      whole('vips', '--version', { files: [] }),
      whole('mogrify', '-version', { files: [] }),
    ],
    check: checkVersion,
    goals: [ratioGoal('start', 'wall', 1.5)],
    repeat: 5,
  }),
};

async function manySmall({ corpus, scripts }: Bench, count: number): Promise<ImageCase> {
  const inputs = await corpus.thumbnails(count);
  const inverse = (ratio: number | undefined) => (ratio === undefined ? undefined : 1 / ratio);
  return {
    title: `many-small: ${count} files`,
    text: `${count} JPEGs and PNGs of 64x48 to 200x150 to WebP, quality 80, effort 4.`,
    contenders: [
      ...scripts.loops(WEBP.work, inputs),
      scripts.orielWriting(WEBP.oriel, inputs),
      scripts.naive(WEBP.work, inputs),
      mogrify(`-format webp ${WEBP.magick}`, inputs),
    ],
    check: checkPictures(inputs, same),
    columns: [megabytes],
    goals: [
      {
        goal: 'files/s ≥ 0.95 × limit',
        measured: (standings) => inverse(figureRatio(standings, 'many-small', 'wall')),
        atBest: (standings) =>
          inverse(ratioOf(standings, 'many-small', (standing) => least(standing, 'wall'))),
        bound: 0.95,
      },
      {
        goal: `flat memory: peak with ${count} files ≤ 1.3 × peak with 100`,
        measured: (standings) => {
          const [many, few] = ['many-small', 'many-small-100'].map((id) =>
            find(standings, id, 'subject')?.median('peak'),
          );
          return many === undefined || few === undefined ? undefined : many / few;
        },
        // V8 lets its heap grow by that much before it collects, even in the minimal loop.
        bound: 1.3,
      },
    ],
    repeat: 0.4,
  };
}

const same = (size: Size): Size => size;
