import type { Model } from '../../api/resource.ts';
import { type ShownRequest, sdkCode } from '../../components/shown-request.ts';
import type { Draft, Input } from './draft.ts';
import { fieldsFor, isEdit, type Situation } from './fields.ts';
import { isDrawn } from './mask.ts';

const PATHS = {
  image: 'v1/images/generations',
  video: 'v1/videos/generations',
  audio: 'v1/audio/generations',
} as const;

/** A request that creates a task. */
export interface MediaRequest {
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Files of an edit, which is sent as a form; null for a JSON body. */
  readonly edit: { readonly images: readonly Input[]; readonly mask: Draft['mask'] } | null;
}

/** The request of a draft without faults. */
export function requestOf(situation: Situation): MediaRequest {
  const { kind, model, draft } = situation;
  const { values, inputs, mask } = draft;
  const fields: Record<string, unknown> = { model: model.id, prompt: values['prompt'] ?? '' };
  const size = values['size']?.trim();
  if (kind !== 'audio' && size) fields['size'] = size;
  for (const { name, kind: control } of fieldsFor(situation)) {
    const text = values[name]?.trim();
    if (text) fields[name] = control === 'number' ? Number(text) : text;
  }
  if (isEdit(situation)) {
    const edit = { images: inputs, mask: isDrawn(mask) ? mask : null };
    return { path: 'v1/images/edits', fields, edit };
  }
  if (kind !== 'audio' && inputs.length > 0) fields['input_images'] = inputs.map(({ url }) => url);
  return { path: PATHS[kind], fields, edit: null };
}

/** Credits that a request costs by the prices of the catalog; null where it has none. */
export function estimateOf(
  { type, pricing, limits }: Pick<Model, 'type' | 'pricing' | 'limits'>,
  fields: Readonly<Record<string, unknown>>,
): number | null {
  if (type === 'image') {
    const price = pricing['per_image'];
    return price === undefined ? null : rounded(price * Number(fields['n'] ?? 1));
  }
  if (type === 'audio') return pricing['per_request'] ?? null;
  const price = pricing['per_video'];
  if (price === undefined) return null;
  const perSecond = pricing['per_second'] ?? 0;
  if (perSecond === 0) return price;
  const seconds = fields['duration'] ?? limits['default_duration'];
  return seconds == null ? null : rounded(price + perSecond * Number(seconds));
}

/** Credits have six decimals; binary fractions must not show. */
const rounded = (credits: number): number => Math.round(credits * 1e6) / 1e6;

/** Names of the files of an edit, for commands and code. */
function filesOf({ images, mask }: NonNullable<MediaRequest['edit']>) {
  const names = images.map((_, index) =>
    images.length === 1 ? 'image.png' : `image-${index + 1}.png`,
  );
  return { names, mask: mask === null ? null : 'mask.png' };
}

/** A request as the snippets of curl and JavaScript show it. */
export function shownOf({ path, fields, edit }: MediaRequest): ShownRequest {
  if (edit === null) return { method: 'POST', path, json: fields };
  const { names, mask } = filesOf(edit);
  const field = names.length === 1 ? 'image' : 'image[]';
  return {
    method: 'POST',
    path,
    form: [
      ...Object.entries(fields).map(([name, value]) => [name, String(value)] as const),
      ...names.map((name) => [field, { file: name }] as const),
      ...(mask === null ? [] : [['mask', { file: mask }] as const]),
    ],
  };
}

/** Code that sends a request by the SDK of OpenAI, where it has such requests. */
export function sdkOf(request: MediaRequest): readonly (readonly [string, string])[] {
  const { path, fields, edit } = request;
  const call = (method: string, body: object) => {
    const text = JSON.stringify(body, null, 2).replace(
      /"file:([^"]+)"/g,
      'fs.createReadStream("$1")',
    );
    return `const answer = await client.${method}(${text});`;
  };
  if (edit !== null) {
    const { names, mask } = filesOf(edit);
    const files = names.map((name) => `file:${name}`);
    const body = {
      ...fields,
      image: files.length === 1 ? files[0] : files,
      ...(mask !== null && { mask: `file:${mask}` }),
      response_format: 'url',
    };
    return [withFiles([call('images.edit', body), 'console.log(answer.data);'])];
  }
  if (path === 'v1/images/generations') {
    const body = { ...fields, response_format: 'url' };
    return [sdkCode('OpenAI', [call('images.generate', body), 'console.log(answer.data);'])];
  }
  const { prompt, format, duration, seed, ...rest } = fields;
  // The endpoint of speech has neither of them.
  if (path !== 'v1/audio/generations' || duration !== undefined || seed !== undefined) return [];
  const body = {
    voice: 'alloy',
    ...rest,
    input: prompt,
    ...(format !== undefined && { response_format: format }),
  };
  const save = `await fs.promises.writeFile('speech.${format ?? 'wav'}', Buffer.from(await answer.arrayBuffer()));`;
  return [withFiles([call('audio.speech.create', body), save])];
}

/** Code that reads or writes files. */
function withFiles(lines: readonly string[]): readonly [label: string, text: string] {
  const [label, text] = sdkCode('OpenAI', lines);
  return [label, `import fs from 'node:fs';\n${text}`];
}
