import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { painted, photo, pngOf } from '../fixtures/images.ts';
import { oriel } from '../oriel.ts';

/** A program that does the same work: another library, or libvips of another version than sharp's. */
interface Tool {
  readonly program: string;
  /** Debian package. */
  readonly from: string;
  readonly version: readonly string[];
  /** Text of its version. */
  readonly known: string;
}

const TOOLS = {
  magick: {
    program: 'convert',
    from: 'imagemagick',
    version: ['-version'],
    known: 'ImageMagick Studio',
  },
  vips: { program: 'vips', from: 'libvips-tools', version: ['--version'], known: 'vips-' },
} as const satisfies Record<string, Tool>;

type ToolName = keyof typeof TOOLS;

const found = new Set(
  (Object.keys(TOOLS) as ToolName[]).filter((name) => {
    const { program, version, known } = TOOLS[name];
    return spawnSync(program, version, { encoding: 'utf8' }).stdout?.includes(known);
  }),
);

/** One change of pixels, by Oriel and by other tools. */
interface Case {
  readonly title: string;
  /** Steps of a recipe, as YAML in one line. */
  readonly steps: string;
  readonly input?: 'scan';
  /** Commands by tool; IN, OUT, MASK, TMP and LCH are paths. Several lines run in turn. */
  readonly tools: Readonly<Partial<Record<ToolName, string>>>;
  /** Differences of samples, of 255, that are allowed: on average, and at most. None where not given. */
  readonly mean?: number;
  readonly most?: number;
}

const SIZE = { width: 240, height: 160 };

/** A step that ImageMagick does by one option, with samples that differ by 1 at most. */
const atMostOne = (step: string, options: string, option: string): Case => ({
  ...{ title: step, steps: `${step}: ${options}`, most: 1 },
  tools: { magick: `IN ${option} OUT` },
});

const CASES: readonly Case[] = [
  {
    title: 'trim',
    input: 'scan',
    steps: 'trim: { threshold: 0 }',
    tools: { magick: 'IN -trim +repage OUT', vips: 'extract_area IN OUT 31 17 100 60' },
  },
  {
    title: 'extend by edges of a colour',
    steps: 'extend: { top: 5, right: 9, bottom: 6, left: 12, background: "#336699" }',
    tools: {
      magick:
        'IN -background #336699 -gravity NorthWest -splice 12x5 -gravity SouthEast -splice 9x6 OUT',
      vips: 'embed IN OUT 12 5 261 171 --extend background --background "51 102 153"',
    },
  },
  {
    title: 'extend by mirrored edges to a ratio',
    steps: 'extend: { ratio: "1:1", content: mirror }',
    tools: {
      magick:
        'IN -virtual-pixel mirror -set option:distort:viewport 240x240+0-40 -distort SRT 0 +repage OUT',
      vips: 'embed IN OUT 0 40 240 240 --extend mirror',
    },
    most: 1,
  },
  {
    title: 'sharpen',
    steps: 'sharpen: { sigma: 1.2, flat: 1, jagged: 2 }',
    tools: { vips: 'sharpen IN OUT --sigma 1.2 --m1 1 --m2 2' },
    mean: 0.3,
    most: 3,
  },
  {
    title: 'blur',
    steps: 'blur: { sigma: 2 }',
    tools: { magick: 'IN -blur 0x2 OUT', vips: 'gaussblur IN OUT 2' },
    mean: 0.6,
    most: 4,
  },
  {
    title: 'greyscale by luminance',
    steps: 'greyscale: {}',
    tools: {
      magick: `IN -colorspace RGB -color-matrix "${Array(3).fill('0.2126 0.7152 0.0722').join(' ')}" -colorspace sRGB OUT`,
      vips: 'colourspace IN OUT b-w',
    },
    mean: 0.6,
    most: 2,
  },
  {
    title: 'modulate in CIE LCh',
    steps: 'modulate: { brightness: 0.8, saturation: 1.3, hue: 40 }',
    tools: {
      vips: 'colourspace IN TMP lch\nlinear TMP LCH "0.8 1.3 1" "0 0 40"\ncolourspace LCH OUT srgb',
    },
    mean: 0.6,
    most: 3,
  },
  atMostOne('normalise', '{ low: 2, high: 1 }', '-contrast-stretch 2%x1%'),
  atMostOne('gamma', '{ value: 1.6 }', '-gamma 1.6'),
  atMostOne('levels', '{ black: 51, white: 204, gamma: 1.2 }', '-level 20%,80%,1.2'),
  atMostOne('contrast', '{ amount: 30 }', '-brightness-contrast 0x30'),
  atMostOne('tint', '{ color: "#a0704a" }', '-fill #a0704a -tint 100'),
  atMostOne('median', '{ size: 5 }', '-statistic Median 5x5'),
  {
    title: 'unsharp',
    steps: 'unsharp: { radius: 2, amount: 0.8 }',
    tools: { magick: 'IN -unsharp 0x2+0.8+0 OUT' },
    mean: 0.6,
    most: 4,
  },
  {
    title: 'round, on a colour',
    steps: 'round: { radius: 40 } }, { flatten: { background: "#336699" }',
    tools: {
      magick:
        'IN ( -size 240x160 xc:black -fill white -draw "roundrectangle 0,0 239,159 39.5,39.5" ) -alpha off -compose CopyOpacity -composite -background #336699 -compose Over -flatten OUT',
    },
    mean: 0.1,
    most: 64,
  },
  {
    title: 'mask, on a colour',
    steps: 'mask: { image: mask.png } }, { flatten: { background: "#336699" }',
    tools: {
      magick:
        'IN MASK -alpha off -compose CopyOpacity -composite -background #336699 -compose Over -flatten OUT',
    },
    most: 1,
  },
  {
    title: 'resize down',
    steps: 'resize: { width: 90 }',
    tools: {
      magick: 'IN -filter Lanczos -resize 90x60! OUT',
      vips: 'resize IN OUT 0.375',
    },
    mean: 1,
    most: 8,
  },
  {
    title: 'resize up',
    steps: 'resize: { percent: 150, enlarge: true }',
    tools: { magick: 'IN -filter Lanczos -resize 360x240! OUT' },
    mean: 1.2,
    most: 16,
  },
];

interface Picture {
  readonly width: number;
  readonly height: number;
  readonly data: Uint8Array;
}

async function pixels(file: string): Promise<Picture> {
  const { data, info } = await sharp(readFileSync(file))
    .toColourspace('srgb')
    .removeAlpha()
    .raw()
    .toBuffer({ resolveWithObject: true });
  return { width: info.width, height: info.height, data };
}

/** Words of a command; quoted ones may contain spaces. */
function words(command: string): string[] {
  return [...command.matchAll(/"([^"]*)"|\S+/g)].map(([word, quoted]) => quoted ?? word);
}

describe('pixels of steps', () => {
  const folder = mkdtempSync(join(tmpdir(), 'oriel-test-'));
  const fileOf = (name: string) => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  beforeAll(async () => {
    const picture = await pngOf(photo(SIZE).blur(1));
    writeFileSync(fileOf('photo.png'), picture);
    const inner = await sharp(picture).resize(100, 60, { fit: 'fill' }).linear(0.5, 0).toBuffer();
    const shades = painted(SIZE, (x, y) => Array(3).fill((x + y) % 256));
    writeFileSync(fileOf('mask.png'), await pngOf(shades));
    const paper = { ...SIZE, channels: 3, background: '#f4f1ea' } as const;
    const scan = sharp({ create: paper }).composite([{ input: inner, left: 31, top: 17 }]);
    writeFileSync(fileOf('scan.png'), await pngOf(scan));
    // One process makes all outputs.
    for (const input of ['photo', 'scan']) {
      const outputs = CASES.flatMap(({ steps, input: own = 'photo' }, index) =>
        own === input ? [`  - { name: "${index}.png", format: png, steps: [{ ${steps} }] }`] : [],
      );
      writeFileSync(fileOf(`${input}.yaml`), ['outputs:', ...outputs, ''].join('\n'));
      const args = ['run', `${input}.yaml`, `${input}.png`, '--out', 'out'];
      const { status, stderr } = await oriel(args, { cwd: folder });
      expect(status, stderr).toBe(0);
    }
  });

  const compared = CASES.flatMap(({ tools, ...own }, index) =>
    Object.entries(tools).map(([tool, command]) => ({
      ...own,
      index,
      tool: tool as ToolName,
      command,
    })),
  );

  it.for(compared)('of $title are those of $tool', async (one, { skip }) => {
    const { index, tool, command, input = 'photo', mean = 0, most = mean } = one;
    const { program, from } = TOOLS[tool];
    if (!found.has(tool)) skip(`${program} is missing: apt-get install ${from}`);
    const paths: Record<string, string> = {
      IN: fileOf(`${input}.png`),
      OUT: fileOf(`${index}-${tool}.png`),
      MASK: fileOf('mask.png'),
      LCH: fileOf(`${index}-lch.v`),
      TMP: fileOf(`${index}-${tool}.v`),
    };
    for (const line of command.split('\n')) {
      execFileSync(
        program,
        words(line).map((word) => paths[word] ?? word),
      );
    }
    const [own, other] = [await pixels(fileOf(`out/${index}.png`)), await pixels(paths['OUT']!)];
    expect([own.width, own.height]).toEqual([other.width, other.height]);
    const distances = own.data.map((sample, at) => Math.abs(sample - other.data[at]!));
    const sum = distances.reduce((total, distance) => total + distance, 0);
    expect(sum / distances.length, 'mean difference').toBeLessThanOrEqual(mean || most);
    const largest = distances.reduce((one, other) => Math.max(one, other), 0);
    expect(largest, 'largest difference').toBeLessThanOrEqual(most);
  });
});
