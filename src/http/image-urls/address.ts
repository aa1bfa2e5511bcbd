import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Config } from '../../config/settings/schema.ts';
import { codedFailure } from '../../failure.ts';
import { STEPS } from '../../operations/steps/steps.ts';

type ImageSettings = Config['images'];

/** Where the endpoint is. */
export const IMAGE_PATH = '/img/';

/** Characters of the path behind the signature. */
const MAX_LENGTH = 8000;

/** Short names of options that stand without a step. */
const SHORT: Readonly<Record<string, string>> = {
  w: 'width',
  h: 'height',
  q: 'quality',
  f: 'format',
};

/** Options that stand for a resize where no step is named; all others are those of the encoder. */
const RESIZE = Object.keys(STEPS.get('resize')!.fields).filter((name) => name !== 'background');

const FORMAT = /(^|[;,])f(ormat)?=/;

const EXPIRES = /(^|[;,])expires=(\d{1,12})(?=[;,]|$)/;

/** The signature of `STEPS/SOURCE`: HMAC-SHA256 in base64url. */
function signatureOf(path: string, key: string): string {
  return createHmac('sha256', key).update(`/${path}`).digest('base64url');
}

/**
 * Reads the path of a URL, whose signature is checked before anything else.
 *
 * @param url as the client has sent it
 * @throws Failure 403 `invalid_signature`; 404 `image_expired`; `invalid_url`
 */
export function readAddress(url: string, { keys, presets }: ImageSettings) {
  const path = url.slice(IMAGE_PATH.length).split('?', 1)[0]!;
  const [, signature = '', rest = ''] = /^([^/]*)\/(.*)$/s.exec(path) ?? [];
  // Some proxies merge the slashes of https://.
  const signed = rest.replace(/\/(https?|s3):\/+/, '/$1://');
  if (rest.length > MAX_LENGTH || !keys.some((key) => isSigned(signed, signature, key))) {
    throw codedFailure('invalid_signature', 'the signature of the URL does not match');
  }
  const slash = signed.indexOf('/');
  const invalid = (message: string) => codedFailure('invalid_url', message);
  const expected = 'expected /img/SIGNATURE/STEPS/SOURCE, in percent-encoded UTF-8';
  const [written, source] = [signed.slice(0, slash), signed.slice(slash + 1)].map((text) => {
    try {
      return decodeURIComponent(text);
    } catch {
      throw invalid(expected);
    }
  }) as [string, string];
  if (slash === -1 || source === '') throw invalid(expected);
  const found = EXPIRES.exec(written)?.[2];
  const expires = found === undefined ? null : Number(found);
  if (expires !== null && expires * 1000 <= Date.now()) {
    throw codedFailure('image_expired', 'the URL has expired');
  }
  const items = written
    .replace(EXPIRES, '')
    .split(';')
    .filter((item) => item !== '' && item !== '_');
  return {
    steps: items.map((item) => (Object.hasOwn(presets, item) ? presets[item] : item)).join(';'),
    source,
    expires,
  };
}

function isSigned(path: string, signature: string, key: string): boolean {
  const expected = Buffer.from(signatureOf(path, key));
  // A client may pad base64url, as some libraries do.
  const given = Buffer.from(signature.replace(/={1,2}$/, ''));
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** Whether steps name the format of the output. */
export function choosesFormat(steps: string): boolean {
  return FORMAT.test(steps);
}

/**
 * Writes steps as a recipe in YAML with one output.
 *
 * @param steps `w=400,fit=cover;sharpen:sigma=1;format=webp,quality=70`
 * @param format of the output: `source` for that of the source, or the one that the steps name
 * @throws Failure `invalid_recipe`
 */
export function recipeOf(steps: string, format: string): string {
  const list: string[] = [];
  const encoding: string[] = [];
  for (const item of steps.split(';').filter(Boolean)) {
    const [, name, text = ''] = /^(?:([A-Za-z-]+)(?::|$))?(.*)$/s.exec(item)!;
    const options = text.split(',').filter(Boolean).map(optionOf);
    if (name !== undefined) {
      list.push(`{${name}: ${mapOf(options)}}`);
      continue;
    }
    const resize = options.filter(([option]) => RESIZE.includes(option));
    if (resize.length > 0) list.push(`{resize: ${mapOf(resize)}}`);
    const others = options.filter((option) => !resize.includes(option));
    encoding.push(...others.map(([option, value]) => `${option}: ${value}`));
  }
  const output = (...own: string[]) => `{${[...own, ...encoding].join(', ')}}`;
  const outputs = [format === 'source' ? output() : output(`format: ${format}`)];
  // AVIF would lose the frames of an animation. WebP with one frame is not made beside it.
  if (format === 'avif') {
    outputs.unshift(output('format: webp', "when: {frames: '>1'}", 'name: animation.webp'));
  }
  return `steps: [${list.join(', ')}]\noutputs: [${outputs.join(', ')}]\n`;
}

const mapOf = (options: readonly (readonly [string, string])[]) =>
  `{${options.map(([name, value]) => `${name}: ${value}`).join(', ')}}`;

/** An option with its value in YAML. */
function optionOf(text: string): readonly [name: string, value: string] {
  const [, name, value] = /^([A-Za-z]+)=(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) {
    const message = `steps: expected NAME=VALUE, received ${JSON.stringify(text)}`;
    throw codedFailure('invalid_recipe', message, { param: 'steps' });
  }
  const isPlain = /^-?(?:\d+(?:\.\d+)?|[A-Za-z][\w-]*)$/.test(value);
  return [SHORT[name] ?? name, isPlain ? value : JSON.stringify(value)];
}
