import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Readable } from 'node:stream';

// The CPU milliseconds of passing finished images on: in a ZIP, as the daemon does, or bare. Both hash
// them, as is done for the manifest in any case. Prints milliseconds for one batch: `[zip, bare]`.

/** What is used of it, so that the benchmark needs no types from outside its folder. */
interface Zip {
  readonly stream: Readable;
  add(name: string, image: { bytes: Uint8Array; format: string }): Promise<string>;
  finish(result: object, parameters: object): Promise<void>;
}

const PIECE = 64 * 1024;

const [module = '', folder = '', count = '1'] = process.argv.slice(2);
const { createZip } = (await import(module)) as { createZip(): Promise<Zip> };
const images = readdirSync(folder).map((name) => ({
  name: basename(name),
  bytes: new Uint8Array(readFileSync(join(folder, name))),
}));

async function zipped(): Promise<number> {
  const zip = await createZip();
  const read = readAll(zip.stream);
  for (const { name, bytes } of images) {
    createHash('sha256').update(bytes).digest('hex');
    await zip.add(name, { bytes, format: 'webp' });
  }
  await zip.finish({}, {});
  return read;
}

async function bare(): Promise<number> {
  return readAll(Readable.from(hashed(), { objectMode: false }));
}

function* hashed(): Generator<Uint8Array> {
  for (const { bytes } of images) {
    createHash('sha256').update(bytes).digest('hex');
    yield bytes;
  }
}

/** Reads as an answer's socket would be fed. */
async function readAll(stream: Readable): Promise<number> {
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    for (let start = 0; start < chunk.length; start += PIECE) {
      length += chunk.subarray(start, start + PIECE).length;
    }
  }
  return length;
}

/** CPU milliseconds of doing something a number of times, for each time. */
async function cost(work: () => Promise<number>, times: number): Promise<number> {
  const before = process.cpuUsage();
  for (let time = 0; time < times; time++) await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000 / times;
}

const rounds = Number(count);
await cost(zipped, 2);
await cost(bare, 2);
const halves = [await cost(zipped, rounds), await cost(bare, rounds)];
// Once more the other way round: what drifts meets both.
const others = [await cost(bare, rounds), await cost(zipped, rounds)].reverse();
process.stdout.write(JSON.stringify(halves.map((half, at) => (half + others[at]!) / 2)));
