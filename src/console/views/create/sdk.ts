import { type ShownRequest, sdkCode } from '../../components/shown-request.ts';
import type { MediaRequest } from './request.ts';

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
export function sdkOf({
  path,
  fields,
  edit,
}: MediaRequest): readonly (readonly [string, string])[] {
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
