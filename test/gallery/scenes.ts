import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { randomNumbers } from '../fixtures/images.ts';

/** Colours of a landscape, from the sky's top down to the water. */
interface Light {
  readonly seed: number;
  readonly sky: readonly [top: string, horizon: string];
  readonly sun: string;
  readonly hills: readonly [far: string, middle: string, near: string];
  readonly water: string;
}

const LIGHTS = {
  lake: {
    seed: 1,
    sky: ['#2f6fb5', '#f5d9a8'],
    sun: '#fff3d0',
    hills: ['#7d93a8', '#4d6f6b', '#24413a'],
    water: '#4f86a8',
  },
  dunes: {
    seed: 2,
    sky: ['#d9734a', '#fbe3b0'],
    sun: '#ffe9b8',
    hills: ['#d69a5c', '#b8743c', '#7c4524'],
    water: '#c98f55',
  },
  night: {
    seed: 3,
    sky: ['#0a1230', '#3b3a6e'],
    sun: '#e8ecff',
    hills: ['#262b52', '#1a1e3d', '#0c0f22'],
    water: '#1b2450',
  },
} as const satisfies Record<string, Light>;

type Scene = keyof typeof LIGHTS;

const WIDTH = 960;
const HEIGHT = 640;

/** A ridge of hills as a path that is closed at the bottom. */
function ridge(height: number, rise: number, random: (below: number) => number): string {
  const points = Array.from({ length: 9 }, (_, index) => {
    return `${(index * WIDTH) / 8},${height - random(rise)}`;
  });
  return `M0,${HEIGHT} L${points.join(' L')} L${WIDTH},${HEIGHT} Z`;
}

/** A landscape with a sun, three ridges, water and grain; the same scene has the same pixels. */
async function landscape(scene: Scene): Promise<Sharp> {
  const { seed, sky, sun, hills, water } = LIGHTS[scene];
  const random = randomNumbers(seed * 7919);
  const shapes = hills.map((colour, index) => {
    const path = ridge(360 + index * 70, 150 - index * 20, random);
    return `<path d="${path}" fill="${colour}"/>`;
  });
  const x = 250 + random(460);
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}">
    <linearGradient id="sky" x2="0" y2="1"><stop stop-color="${sky[0]}"/><stop offset=".7" stop-color="${sky[1]}"/></linearGradient>
    <rect width="${WIDTH}" height="${HEIGHT}" fill="url(#sky)"/>
    <circle cx="${x}" cy="170" r="58" fill="${sun}"/>${shapes.join('')}
    <rect y="540" width="${WIDTH}" height="100" fill="${water}"/>
    <rect x="${x - 40}" y="556" width="80" height="6" fill="${sun}" opacity=".6"/>
    <rect x="${x - 22}" y="584" width="44" height="6" fill="${sun}" opacity=".5"/>
  </svg>`;
  const pixels = await sharp(Buffer.from(svg)).removeAlpha().raw().toBuffer();
  for (let index = 0; index < pixels.length; index += 1) {
    pixels[index] = Math.max(0, Math.min(255, pixels[index]! + random(11) - 5));
  }
  return sharp(pixels, { raw: { width: WIDTH, height: HEIGHT, channels: 3 } });
}

const GPS = {
  IFD0: { Make: 'Oriel', Copyright: 'CC0' },
  IFD3: {
    GPSLatitudeRef: 'N',
    GPSLatitude: '47/1 34/1 0/1',
    GPSLongitudeRef: 'E',
    GPSLongitude: '8/1 50/1 0/1',
  },
};

const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" width="512" height="512">
  <rect width="512" height="512" rx="96" fill="#2f6fb5"/>
  <path d="M96,400 L220,190 L300,310 L350,240 L430,400 Z" fill="#fff"/>
  <circle cx="360" cy="140" r="48" fill="#ffd166"/></svg>`;

/** Writes the inputs of the gallery's commands: photographs, a smaller copy of one and a logo. */
export async function writeScenes(folder: string): Promise<void> {
  const write = async (name: string, image: Sharp): Promise<void> => {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, await image.toBuffer());
  };
  const photograph = (image: Sharp) => image.withExif(GPS).jpeg({ quality: 90 });
  const lake = await landscape('lake');
  await write('photos/lake.jpg', photograph(lake.clone()));
  await write('photos/dunes.jpg', photograph(await landscape('dunes')));
  await write('photos/night.jpg', photograph(await landscape('night')));
  await write('photos/sent/lake-small.jpg', lake.resize(640).jpeg({ quality: 70 }));
  await write('logo.png', sharp(Buffer.from(LOGO)).png());
}
